//! `fstrial lab list` and `fstrial lab remove`: labs side by side, by name.

use crate::exit::{Ended, Exit, Failure};
use crate::output::{print, say};

/// Shown where there is none.
pub(crate) const NO_LAB: &str = "there is no lab yet: `fstrial lab build` makes one\n";

/// Lists the labs.
pub(super) fn list() -> Ended {
    let text: String = listed()?.into_iter().map(|(_, text)| text).collect();
    print(if text.is_empty() { NO_LAB } else { &text })?;
    Ok(Exit::Done)
}

/// The labs with a line for each: name, kernel's release, optional parts.
pub(crate) fn listed() -> Result<Vec<(String, String)>, Failure> {
    let cache = super::cache()?;
    let names = lab::names(&cache).map_err(Failure::from(Exit::Refused))?;
    let line = |name: String| {
        let said = match lab::find(&cache, &name) {
            Ok(software) => {
                let parts: Vec<&str> = software.manifest.with.iter().map(String::as_str).collect();
                let with = match parts.is_empty() {
                    true => String::new(),
                    false => format!(", with {}", parts.join(", ")),
                };
                let failed = lab::failed_parts(&cache, &name).unwrap_or_default();
                let failed: String = failed
                    .iter()
                    .map(|(part, why)| format!("\n{:18}its part `{part}` failed: {why}", ""))
                    .collect();
                let own = software.manifest.own_kernel.as_ref();
                let own = own.map_or(String::new(), |own| format!(" of {}", own.made_of));
                format!("Linux {}{own}{with}{failed}", software.kernel_release())
            }
            Err(error) => error.to_string(),
        };
        let text = format!("{name:<16}  {said}\n");
        (name, text)
    };
    Ok(names.into_iter().map(line).collect())
}

/// Removes one.
pub(super) fn remove(name: &str) -> Ended {
    lab::remove(&super::cache()?, name, &mut crate::labs::tell)
        .map_err(Failure::from(Exit::Refused))?;
    say!("the lab `{name}` is removed");
    Ok(Exit::Done)
}
