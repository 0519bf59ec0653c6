//! Archives beyond those that a machine lists.

use std::path::Path;

use super::Apt;
use crate::error::LabError;

/// Archives in addition to those of the machine's own list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Archives {
    /// Components of the distribution in addition to those that are listed: `contrib`.
    pub components: &'static [&'static str],
    /// Source packages to take from the release's backports if they are there: the release's
    /// own versions do not build for every kernel of its security suite.
    pub backports: &'static [&'static str],
    /// Security suites of older releases: `bullseye-security`.
    pub security: &'static [&'static str],
    /// A release whose source packages are listed: `bookworm`.
    pub source: Option<&'static str>,
}

impl Archives {
    /// None beyond those.
    pub const OWN: Archives =
        Archives { components: &[], backports: &[], security: &[], source: None };

    /// Whether the machine's own sources are enough.
    pub(super) fn is_own(&self) -> bool {
        *self == Archives::OWN
    }
}

/// The keyring that verifies Debian's archives, where a source does not name one.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl Apt {
    /// A list of sources and the preferences for it: the distribution's archives that this
    /// machine lists, with the requested components and backports added. Lists that are there
    /// already are not fetched again.
    pub(super) fn beyond(&self, archives: &Archives) -> Result<(String, String), LabError> {
        // An archive's publisher is named in its list only, so the lists have to be there.
        self.update()?;
        let format = "$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)";
        let told =
            self.run("apt-get", &["indextargets", "--format", format, "Identifier: Packages"])?;
        let listed: Vec<Vec<&str>> =
            told.lines().map(|line| line.split(' ').collect::<Vec<_>>()).collect();
        let sources = sources(&listed, archives);
        if sources.is_empty() {
            return Err(LabError::NoPackage {
                package: archives.backports.join(" "),
                why: "apt's sources list no Debian archive; add one".to_owned(),
            });
        }
        let signed = match Path::new(KEYRING).exists() {
            true => format!(" signed-by={KEYRING}"),
            false => String::new(),
        };
        let list = sources.iter().map(|(place, suite, components)| {
            format!("deb [arch=amd64{signed}] {place} {suite} {components}\n")
        });
        let options =
            if signed.is_empty() { String::new() } else { format!(" [{}]", signed.trim()) };
        let source = source_suites(&listed, archives.source);
        let list = list.chain(
            source.iter().map(|(place, suite)| format!("deb-src{options} {place} {suite} main\n")),
        );
        let preferred = archives.backports.iter().map(|name| {
            format!("Package: src:{name}\nPin: release n=*-backports\nPin-Priority: 990\n\n")
        });
        Ok((list.collect(), preferred.collect()))
    }
}

/// Place, suite and components of every archive of Debian's in a table of place, code name,
/// component and origin, with more components, and of the backports of each release.
fn sources(listed: &[Vec<&str>], archives: &Archives) -> Vec<(String, String, String)> {
    let mut sources: Vec<(String, String, Vec<&str>)> = Vec::new();
    for line in listed {
        let [place, suite, component, "Debian"] = line[..] else { continue };
        let backports = format!("{suite}-backports");
        let release = !suite.contains('-') && !archives.backports.is_empty();
        let older = archives.security.iter().copied().filter(|_| suite.ends_with("-security"));
        let backports = release.then_some(backports.as_str());
        for suite in [Some(suite), backports].into_iter().flatten().chain(older) {
            let known = sources.iter_mut().find(|(p, s, _)| p == place && s == suite);
            let components = match known {
                Some((_, _, components)) => components,
                None => {
                    sources.push((place.to_owned(), suite.to_owned(), Vec::new()));
                    let Some((_, _, components)) = sources.last_mut() else { continue };
                    components
                }
            };
            for component in [component].iter().chain(archives.components) {
                if !components.contains(component) {
                    components.push(component);
                }
            }
        }
    }
    let joined = |(place, suite, components): (String, String, Vec<&str>)| {
        (place, suite, components.join(" "))
    };
    sources.into_iter().map(joined).collect()
}

/// Place and suite of the archives that have this release's sources.
fn source_suites(listed: &[Vec<&str>], release: Option<&str>) -> Vec<(String, String)> {
    let mut suites = Vec::new();
    for line in listed {
        let ([place, suite, _, "Debian"], Some(release)) = (&line[..], release) else { continue };
        let suite = match suite.split_once('-') {
            None => release.to_owned(),
            Some((_, "security")) => format!("{release}-security"),
            Some(_) => continue,
        };
        let found = ((*place).to_owned(), suite);
        if !suites.contains(&found) {
            suites.push(found);
        }
    }
    suites
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_components_and_backports_come_from_the_same_place() {
        let text = [
            "http://a/security/ bookworm-security main Debian",
            "http://a/debian/ bookworm main Debian",
            "http://a/debian/ bookworm-updates main Debian",
            "http://b/other/ stable main Someone",
        ];
        let listed: Vec<Vec<&str>> = text.iter().map(|line| line.split(' ').collect()).collect();
        let archives = Archives {
            components: &["contrib"],
            backports: &["zfs-linux"],
            security: &["bullseye-security"],
            source: None,
        };
        assert_eq!(
            source_suites(&listed, Some("trixie")),
            [
                ("http://a/security/".to_owned(), "trixie-security".to_owned()),
                ("http://a/debian/".to_owned(), "trixie".to_owned()),
            ]
        );
        assert!(source_suites(&listed, archives.source).is_empty());
        let found: Vec<String> = sources(&listed, &archives)
            .into_iter()
            .map(|(place, suite, components)| format!("{place} {suite} {components}"))
            .collect();
        assert_eq!(
            found,
            [
                "http://a/security/ bookworm-security main contrib",
                "http://a/security/ bullseye-security main contrib",
                "http://a/debian/ bookworm main contrib",
                "http://a/debian/ bookworm-backports main contrib",
                "http://a/debian/ bookworm-updates main contrib",
            ]
        );
    }
}
