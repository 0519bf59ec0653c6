//! As much of JSON Schema (draft 2020-12) as the published schema uses. A keyword that is
//! not known here is a failure, so that nothing is accepted unchecked.

use serde_json::Value;

pub(crate) struct Schema(Value);

impl Schema {
    pub(crate) fn published() -> Schema {
        let text = include_str!("../../schema/report.schema.json");
        Schema(serde_json::from_str(text).unwrap())
    }

    /// What is wrong with a document, with the place of each.
    pub(crate) fn errors(&self, document: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.0, document, "$", &mut errors);
        errors
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, errors: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().unwrap() {
            let wrong = match keyword.as_str() {
                "$schema" | "$defs" | "title" | "description" | "minItems" => false,
                "$ref" => {
                    let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                    self.check(&self.0["$defs"][name], value, place, errors);
                    false
                }
                "type" => !is_of(rule, value),
                "enum" => !rule.as_array().unwrap().contains(value),
                "const" => value != rule,
                "minimum" => value.as_f64().is_some_and(|v| v < rule.as_f64().unwrap()),
                "maxItems" => {
                    let most = rule.as_u64().unwrap() as usize;
                    value.as_array().is_some_and(|items| items.len() != most)
                }
                "pattern" => !matches_pattern(rule.as_str().unwrap(), value.as_str().unwrap()),
                "anyOf" => rule.as_array().unwrap().iter().all(|one| {
                    let mut found = Vec::new();
                    self.check(one, value, place, &mut found);
                    !found.is_empty()
                }),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{place}[{index}]"), errors);
                    }
                    false
                }
                "properties" => {
                    for (name, item) in value.as_object().into_iter().flatten() {
                        if let Some(rule) = rule.get(name) {
                            self.check(rule, item, &format!("{place}.{name}"), errors);
                        }
                    }
                    false
                }
                "required" => value.as_object().is_some_and(|object| {
                    rule.as_array()
                        .unwrap()
                        .iter()
                        .any(|name| !object.contains_key(name.as_str().unwrap()))
                }),
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    let extra =
                        value.as_object().into_iter().flatten().filter(|(name, _)| {
                            known.is_none_or(|known| !known.contains_key(*name))
                        });
                    for (name, item) in extra {
                        let place = format!("{place}.{name}");
                        match rule {
                            Value::Bool(_) => errors.push(format!("{place} is not known")),
                            rule => self.check(rule, item, &place, errors),
                        }
                    }
                    false
                }
                other => panic!("the schema uses {other}, which is not checked"),
            };
            if wrong {
                errors.push(format!("{place}: {keyword} {rule} refuses {value}"));
            }
        }
    }
}

fn is_of(types: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    match types {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    match pattern {
        "^[0-9]+$" => !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()),
        "^[0-9a-f]{16}$" => {
            text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        }
        other => panic!("pattern {other}"),
    }
}
