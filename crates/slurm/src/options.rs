//! What a job asks of Slurm.

use serde::{Deserialize, Serialize};

use crate::SlurmError;

/// How the tasks of a run are submitted. Values are Slurm's own and are passed on as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// `sbatch --partition`.
    pub partition: Option<String>,
    /// `sbatch --nodelist`.
    pub nodelist: Option<String>,
    /// `sbatch --time`; the partition's own limit where it is not given.
    pub time_limit: Option<String>,
    /// How many tasks run at the same time at most.
    pub at_once: Option<u32>,
    /// Further options of sbatch: `--account=fs`.
    pub further: Vec<String>,
}

/// Options that fstrial sets itself: another value would lose results.
const OURS: [&str; 7] =
    ["--array", "--job-name", "--output", "--error", "--requeue", "--no-requeue", "--wait"];

impl Options {
    /// Checks what can be checked without Slurm.
    ///
    /// # Errors
    /// With the option that is not of the form `--name[=value]`, or is fstrial's own to set.
    pub fn check(&self) -> Result<(), SlurmError> {
        if self.at_once == Some(0) {
            let message = "--at-once 0: nothing would ever run; give 1 or more";
            return Err(SlurmError::Option(message.to_owned()));
        }
        for option in &self.further {
            let name = option.split('=').next().unwrap_or_default();
            if !name.starts_with("--") || name.len() < 3 || option.contains(char::is_whitespace) {
                let message = format!("--sbatch {option}: write it as one word, --name=value");
                return Err(SlurmError::Option(message));
            }
            if OURS.contains(&name) {
                let message = format!("--sbatch {option}: fstrial sets {name} itself");
                return Err(SlurmError::Option(message));
            }
        }
        Ok(())
    }

    /// As sbatch takes them, but for the array.
    pub(crate) fn words(&self) -> Vec<String> {
        let given = [
            ("--partition", &self.partition),
            ("--nodelist", &self.nodelist),
            ("--time", &self.time_limit),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}")));
        given.chain(self.further.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_passed_on_as_slurm_has_them() {
        let options = Options {
            partition: Some("long".into()),
            time_limit: Some("8:00:00".into()),
            further: vec!["--account=fs".into(), "--exclusive".into()],
            ..Options::default()
        };
        options.check().unwrap();
        assert_eq!(
            options.words(),
            ["--partition=long", "--time=8:00:00", "--account=fs", "--exclusive"]
        );
    }

    #[test]
    fn what_would_lose_results_is_refused() {
        let refused = |word: &str| {
            let further = vec![word.to_owned()];
            Options { further, ..Options::default() }.check().unwrap_err().to_string()
        };
        assert!(refused("--array=1").contains("fstrial sets --array itself"));
        assert!(refused("account=fs").contains("--name=value"));
        assert!(refused("--comment=two words").contains("one word"));
        let none = Options { at_once: Some(0), ..Options::default() };
        assert!(none.check().unwrap_err().to_string().contains("--at-once 0"));
    }
}
