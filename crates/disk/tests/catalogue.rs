//! Every shipped device: where its figures come from, and whether its model meets what was
//! published about it.

use disk::{DISKS, DescriptionError, DiskDescription, Figure, Options, check};

fn all() -> Vec<DiskDescription> {
    let parse = |shipped: &disk::Shipped| {
        DiskDescription::find(shipped.name).unwrap_or_else(|error| panic!("{error}"))
    };
    DISKS.iter().map(parse).collect()
}

#[test]
fn names_are_unique_and_those_of_the_files() {
    let disks = all();
    for (disk, shipped) in disks.iter().zip(DISKS) {
        assert_eq!(disk.name, shipped.name);
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(disk.name.chars().all(kebab), "{}", disk.name);
        assert!(!disk.title.is_empty());
    }
    let names: std::collections::BTreeSet<_> = disks.iter().map(|disk| &disk.name).collect();
    assert_eq!(names.len(), DISKS.len());
}

/// Reading refuses a parameter without an origin; this shows that the refusal works on real
/// files, by taking each origin away.
#[test]
fn a_parameter_without_an_origin_is_refused() {
    for shipped in DISKS {
        for kind in ["[[source]]", "[[assumption]]"] {
            if let Some(at) = shipped.text.find(kind) {
                let end = shipped.text[at + 2..]
                    .find("\n[[")
                    .map_or(shipped.text.len(), |length| at + 2 + length);
                let without = format!("{}{}", &shipped.text[..at], &shipped.text[end..]);
                let error = DiskDescription::parse("mine.toml", &without).unwrap_err();
                assert!(error.to_string().contains("has no origin"), "{}: {error}", shipped.name);
            }
        }
    }
}

#[test]
fn every_published_figure_has_a_source_and_every_origin_says_something() {
    for disk in all() {
        for published in &disk.published {
            assert!(published.source.len() > 8, "{}: {:?}", disk.name, published.figure);
            assert!(published.value > 0.0, "{}: {:?}", disk.name, published.figure);
        }
        for provenance in &disk.provenance {
            assert!(provenance.text.len() > 8 && !provenance.of.is_empty(), "{}", disk.name);
        }
    }
}

/// The golden values: random reads of 4 KiB, one at a time.
#[test]
fn random_reads_take_what_they_should() {
    let golden = [
        ("maxtor-atlas-10k-v", 8.2),
        ("seagate-st32171w", 14.5),
        ("hitachi-7k500-400gb", 13.0),
        ("hitachi-7k1000c-1tb", 13.2),
        ("seagate-st2000dm006", 12.7),
        ("seagate-st2000dm006-fitted", 17.5),
        ("hitachi-travelstar-5k160", 17.7),
        ("samsung-870-evo", 0.079),
        ("samsung-pm9a3", 0.082),
        ("seagate-exos-x20-20tb", 12.3),
    ];
    for (name, expected) in golden {
        let disk = DiskDescription::find(name).unwrap();
        let published =
            disk.published.iter().find(|published| published.figure == Figure::RandomReadMs);
        assert_eq!(published.map(|published| published.value), Some(expected), "{name}");
    }
}

/// What each file says its model must meet, it meets.
#[test]
fn models_meet_what_was_published() {
    let mut judged = 0;
    for disk in all() {
        if disk.published.iter().all(|published| published.tolerance_percent.is_none()) {
            continue;
        }
        let found = check(&disk, 1, &Options::default()).unwrap();
        for row in &found.rows {
            if let Some(holds) = row.holds() {
                judged += 1;
                assert!(holds, "{}: {row:?}", disk.name);
            }
        }
    }
    assert!(judged >= 25, "only {judged} figures have a tolerance");
}

#[test]
fn a_faulty_file_is_told_file_line_and_key() {
    let good = DISKS.iter().find(|disk| disk.name == "hitachi-7k500-400gb").unwrap().text;
    let fault = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        DiskDescription::parse("mine.toml", &good.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let line = good.lines().position(|line| line.starts_with("rpm")).unwrap() + 1;

    let misspelt = fault("rpm = 7200", "rmp = 7200");
    assert!(misspelt.contains("mine.toml"), "{misspelt}");
    assert!(misspelt.contains(&format!("line {line}")) && misspelt.contains("rmp"), "{misspelt}");

    let absurd = fault("rpm = 7200", "rpm = 3");
    assert_eq!(absurd, format!("mine.toml, line {line}: `rpm` must be between 500 and 100000"));

    let wrong_type = fault("rpm = 7200", "rpm = \"fast\"");
    assert!(wrong_type.contains(&format!("line {line}")), "{wrong_type}");

    let seek = fault("average = \"8.2ms\"", "average = \"82ms\"");
    assert!(seek.contains("`seek` needs single <= average <= full"), "{seek}");

    let twice = fault("[\"heads\", \"layout\",", "[\"heads\", \"rpm\", \"layout\",");
    assert!(twice.contains("`rpm` has more than one origin"), "{twice}");

    let stray = fault("[\"heads\", \"layout\",", "[\"heads\", \"colour\", \"layout\",");
    assert!(stray.contains("names `colour`"), "{stray}");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = DiskDescription::find("quantum-bigfoot").unwrap_err();
    assert!(error.to_string().contains("hitachi-7k500-400gb"), "{error}");
    let error = DiskDescription::find("/nowhere/mine.toml").unwrap_err();
    assert!(matches!(error, DescriptionError::Read { .. }), "{error}");
    assert!(error.to_string().contains("/nowhere/mine.toml"), "{error}");
}

/// A user's controller names a drive in a file beside its own, and cannot name a controller.
#[test]
fn a_controller_takes_a_members_own_file() {
    let folder = std::env::temp_dir().join(format!("disk-members-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let shipped = |name: &str| DISKS.iter().find(|disk| disk.name == name).unwrap().text;
    let drive = folder.join("drive.toml");
    std::fs::write(&drive, shipped("ide-2gb-1998")).unwrap();
    let array = folder.join("array.toml");
    let own = |member: &str| {
        let text = shipped("areca-arc-1220").replacen(
            "member = \"hitachi-7k500-400gb\"",
            &format!("member = \"{member}\""),
            1,
        );
        std::fs::write(&array, text).unwrap();
        DiskDescription::load(&array)
    };
    let disk = own("drive.toml").unwrap();
    let one = DiskDescription::find("ide-2gb-1998").unwrap().build(0, &Options::default());
    let all = disk.build(0, &Options::default());
    // Whole stripe units of three mirrored pairs.
    let unit = 65536;
    assert_eq!(all.capacity().0, one.capacity().0 / unit * unit * 3);

    let error = own("array.toml").unwrap_err().to_string();
    assert!(error.contains("cannot be the member of another controller"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
