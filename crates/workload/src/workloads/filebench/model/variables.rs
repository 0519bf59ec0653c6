//! Variables of a model, and the laws that they stand for.

use super::Problem;
use super::attributes::{Attributes, Value};
use super::law::{Law, Shape};

/// `randvar(type=…, mean=…)`, or what stands behind `define randvar`.
pub(super) fn randvar(line: usize, mut of: Attributes) -> Result<Law, Problem> {
    let kind = of.text("type")?.unwrap_or_else(|| "gamma".to_owned());
    let (mean, least) = (of.number("mean")?.unwrap_or(0), of.number("min")?.unwrap_or(0));
    let gamma = of.number("gamma")?.unwrap_or(1500);
    let round = of.number("round")?.unwrap_or(0);
    // Where its numbers come from is the trial's seed.
    for ignored in ["seed", "randsrc", "name"] {
        of.take(ignored);
    }
    let table = of.table("randtable");
    of.end("randvar")?;
    if mean < least && table.is_none() {
        return Err(Problem::at(line, format!("mean={mean} is below min={least}")));
    }
    let above = (mean - least.min(mean)) as f64;
    let shape = match (&*kind, table) {
        ("uniform", _) => Shape::Uniform { lower: least as f64, upper: least as f64 + 2.0 * above },
        ("gamma", _) if gamma == 0 => Shape::Constant(mean as f64),
        // Its values begin at `min`; the law of what is above it is moved by that.
        ("gamma", _) if least > 0 => {
            let why = "a gamma law that begins at `min` is not known here; leave min out";
            return Err(Problem::at(line, why));
        }
        ("gamma", _) => Shape::Gamma { mean: mean as f64, shape: gamma as f64 / 1000.0 },
        ("tabular", Some(rows)) => {
            if rows.iter().map(|row| row.0).sum::<u64>() == 0 || rows.iter().any(|r| r.1 > r.2) {
                let why = "a table has rows {percent, from, to}, of which some have a percentage";
                return Err(Problem::at(line, why));
            }
            Shape::Table(rows)
        }
        ("tabular", None) => return Err(Problem::at(line, "type=tabular has no randtable")),
        (other, _) => {
            let known = "uniform, gamma and tabular are";
            return Err(Problem::at(line, format!("type={other} is no kind of randvar; {known}")));
        }
    };
    Ok(Law { round, ..Law::of(shape) })
}

/// `cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)`.
pub(super) fn cvar(line: usize, mut of: Attributes) -> Result<Law, Problem> {
    let wrong = |what: String| Problem::at(line, what);
    let kind = of.text("type")?.ok_or_else(|| wrong("cvar() has no type".to_owned()))?;
    let written = of.text("parameters")?.unwrap_or_default();
    let (least, most) = (of.number("min")?, of.number("max")?);
    let round = of.number("round")?.unwrap_or(0);
    of.end("cvar")?;
    let mut parameters = Vec::new();
    for pair in written.split(';').filter(|pair| !pair.is_empty()) {
        let number = pair.split_once(':').and_then(|(name, value)| {
            let value: f64 = value.parse().ok()?;
            value.is_finite().then_some((name, value))
        });
        parameters.push(number.ok_or_else(|| {
            wrong(format!("parameters={written}: `{pair}` is not of the form name:number"))
        })?);
    }
    let mut value = |name: &str, default: Option<f64>| {
        let at = parameters.iter().position(|(known, _)| *known == name);
        let value = at.map(|at| parameters.remove(at).1).or(default);
        value.ok_or_else(|| wrong(format!("{kind} has no parameter {name}")))
    };
    let shape = match &*kind {
        "cvar-gamma" => Shape::Gamma { mean: value("mean", None)?, shape: value("gamma", None)? },
        "cvar-uniform" => {
            Shape::Uniform { lower: value("lower", Some(0.0))?, upper: value("upper", None)? }
        }
        "cvar-normal" => Shape::Normal { mean: value("mean", None)?, sigma: value("sigma", None)? },
        "cvar-lognormal" => {
            Shape::Lognormal { mean: value("scale", None)?, sigma: value("shape", None)? }
        }
        "cvar-exponential" => Shape::Exponential { mean: value("mean", None)? },
        other => {
            let known = ["gamma", "uniform", "normal", "lognormal", "exponential"]
                .map(|it| format!("cvar-{it}"));
            let known = known.join(", ");
            return Err(wrong(format!("type={other} is not known here; {known} are")));
        }
    };
    if let Some((name, _)) = parameters.first() {
        return Err(wrong(format!("{kind} has no parameter `{name}`")));
    }
    let fits = match &shape {
        Shape::Gamma { mean, shape } => *mean >= 0.0 && (0.001..=1e6).contains(shape),
        Shape::Uniform { lower, upper } => 0.0 <= *lower && lower <= upper,
        Shape::Normal { mean, sigma } => *mean >= 0.0 && *sigma >= 0.0,
        Shape::Lognormal { sigma, .. } => (0.0..=10.0).contains(sigma),
        Shape::Exponential { mean } => *mean >= 0.0,
        Shape::Constant(_) | Shape::Table(_) => true,
    };
    if !fits {
        return Err(wrong(format!("{kind} does not take parameters={written}")));
    }
    let law = Law::of(shape);
    let most = most.map_or(law.most, |most| most as f64);
    let least = least.unwrap_or(0) as f64;
    if least > most {
        return Err(wrong("min is above max".to_owned()));
    }
    Ok(Law { least, most, round, ..law })
}

/// The value that is given for a variable from outside: a number, a switch or a text.
pub(super) fn given(text: &str) -> Value {
    match (super::lexer::number(text), text) {
        (Some(number), _) => Value::Law(Law::constant(number)),
        (None, "true") => Value::Switch(true),
        (None, "false") => Value::Switch(false),
        (None, text) => Value::Text(text.to_owned()),
    }
}
