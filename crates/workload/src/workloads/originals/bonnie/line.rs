//! The program's own figures, from the line with which it ends.

use super::DESCRIPTION;

/// The line of comma-separated values with which bonnie++ ends.
pub(super) struct Line<'a>(Vec<&'a str>);

/// Its figures for one phase.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    /// In the phase's unit; missing where it shows `+++++`.
    pub(super) rate: Option<f64>,
    pub(super) longest_us: Option<f64>,
}

impl<'a> Line<'a> {
    pub(super) fn find(output: &'a str) -> Result<Line<'a>, String> {
        let known = ["1.97,", "1.98,"];
        let line = output
            .lines()
            .rev()
            .find(|line| known.iter().any(|format| line.starts_with(format)))
            .ok_or("it printed no line of format 1.97 or 1.98")?;
        let mut fields: Vec<&str> = line.split(',').collect();
        if line.starts_with("1.97,") {
            // Without the number of seeks and of seekers.
            fields.splice(7..7, ["", ""]);
        }
        match fields.len() {
            50 => Ok(Line(fields)),
            other => Err(format!("its line has {other} fields, not those of its format")),
        }
    }

    pub(super) fn phase(&self, name: &str) -> Result<Told, String> {
        let place = DESCRIPTION.phases.iter().position(|phase| phase.name == name);
        let place = place.ok_or_else(|| format!("there is no phase {name}"))?;
        // Six pairs from the tenth field, six from the 27th, twelve latencies from the 39th.
        let pair = if place < 6 { 9 + 2 * place } else { 26 + 2 * (place - 6) };
        let rate = match self.0[pair] {
            "" => return Err(format!("it gives neither a figure nor `+++++` for {name}")),
            text if text.starts_with('+') => None,
            text => Some(text.parse().map_err(|_| format!("`{text}` is no rate of {name}"))?),
        };
        Ok(Told { rate, longest_us: microseconds(self.0[38 + place]) })
    }
}

fn microseconds(text: &str) -> Option<f64> {
    let (number, factor) = [("us", 1.0), ("ms", 1e3), ("s", 1e6)]
        .into_iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_real_runs() {
        let large = include_str!("../../../../tests/originals/bonnie_s1024_n128_sizes_f.csv");
        let line = Line::find(large).unwrap();
        let rate = |name| line.phase(name).unwrap().rate;
        assert_eq!(rate("write-block"), Some(804_455.0));
        assert_eq!(rate("rewrite"), Some(1_901_292.0));
        assert_eq!((rate("read-block"), rate("seeks")), (None, None));
        assert_eq!(rate("create-sequential"), Some(29_673.0));
        assert_eq!(rate("delete-random"), Some(31_663.0));
        assert_eq!(line.phase("write-block").unwrap().longest_us, Some(4045.0));
        assert_eq!(line.phase("delete-random").unwrap().longest_us, Some(53_254.0));
        // Left out by -f: neither a figure nor a reason.
        assert!(line.phase("write-char").unwrap_err().contains("write-char"));

        let small = include_str!("../../../../tests/originals/bonnie_s64_n16.csv");
        let line = Line::find(small).unwrap();
        assert_eq!(line.phase("write-char").unwrap().rate, Some(1819.0));
        assert_eq!(line.phase("stat-random").unwrap(), Told { rate: None, longest_us: Some(70.0) });

        let files = include_str!("../../../../tests/originals/bonnie_n64_noquiet.out");
        let line = Line::find(files).unwrap();
        assert_eq!(line.phase("create-sequential").unwrap().rate, Some(61_927.0));
        assert_eq!(line.phase("stat-sequential").unwrap().rate, None);
    }

    #[test]
    fn what_is_no_line_of_bonnie() {
        let failed = include_str!("../../../../tests/originals/bonnie_ENOSPC.txt");
        assert!(Line::find(failed).err().unwrap().contains("1.98"));
        assert!(Line::find("1.98,2.00a,x,1").err().unwrap().contains("4 fields"));
    }

    #[test]
    fn any_output_is_read_or_refused() {
        let seeds = [
            include_bytes!("../../../../tests/originals/bonnie_s64_n16.csv").to_vec(),
            include_bytes!("../../../../tests/originals/bonnie_n64_noquiet.out").to_vec(),
        ];
        fuzz::run("bonnie", &seeds, |input| {
            let text = String::from_utf8_lossy(input);
            if let Ok(line) = Line::find(&text) {
                let _ = ["write-block", "read-block"].map(|name| line.phase(name).is_ok());
            }
        });
    }
}
