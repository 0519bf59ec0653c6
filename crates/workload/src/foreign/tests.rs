//! Each kind of file becomes the parameters of its workload, or is refused with its line.

use super::*;

fn read(text: &str) -> Result<(&'static str, Brought), String> {
    let surroundings = FioSurroundings {
        read: &|_| Err(std::io::ErrorKind::NotFound.into()),
        variable: &|_| None,
        objection: &|_| None,
    };
    let reader = recognised(text).ok_or("not recognised")?;
    Ok((reader.workload, reader.read(text, Path::new("dir/file"), &surroundings)?))
}

const POSTMARK: &str = "set size 600 9000\nset number 700\nset transactions 800\nset seed 9\n\
                        set location /mnt/x\nset subdirectories 4\nset read 1024\n\
                        set buffering false\nset bias read 6\nset report verbose\nrun\nquit\n";

const FFSB: &str = "num_filesystems=1\nnum_threadgroups=2\ndirectio=0\ntime=30\n\n[filesystem0]\n\
                    \tlocation=/mnt/x\n\tnum_files=50\n\tnum_dirs=5\n\tmin_filesize=4096\n\
                    \tmax_filesize=64k\n[end0]\n[threadgroup0]\n\tnum_threads=3\n\
                    \tread_weight=4 # most\n\tappend_weight=1\n\tread_size=8192\n\
                    \tread_blocksize=4096\n\twrite_size=8192\n\twrite_blocksize=4096\n[end0]\n\
                    [threadgroup1]\n\tnum_threads=1\n\tdelete_weight=1\n\top_delay=5\n[end1]\n";

#[test]
fn each_kind_is_known_by_its_contents() {
    for (text, workload) in [
        (POSTMARK, "postmark"),
        (FFSB, "ffsb"),
        ("define process name=x { thread name=t { flowop hog value=1 } }\n", "filebench"),
        ("[[phase]]\nname = \"a\"\nop = [{ do = \"list\" }]\n", "custom"),
        ("[[group]]\nweights = { read = 1 }\n", "ffsb"),
        ("run = [\"true\"]\n", "program"),
        // With a typing error that the workload names.
        ("[program]\ncommnad = \"x\"\n", "program"),
        ("rnu = [\"true\"]\n", "program"),
        ("run = [\"true\"\n", "program"),
        ("[[phase]]\nrnu = [\n  \"a=b\",\n]\n", "program"),
        ("[a]\ndescription=\"of us\"\nrw=read\nsize=1m\n", "fio"),
        ("; a job\n[global]\nsize=1m\n[a]\nrw=read\n", "fio"),
    ] {
        assert_eq!(recognised(text).map(|reader| reader.workload), Some(workload), "{text}");
    }
    assert!(recognised("hello\n").is_none());
    let other = given_to("custom", POSTMARK).unwrap_err();
    assert!(other.contains("a configuration of PostMark"), "{other}");
    assert!(given_to("fio", "rw=read\n").unwrap().is_some_and(|it| it.workload == "fio"));
}

#[test]
fn a_configuration_of_postmark_becomes_its_parameters() {
    let (_, brought) = read(POSTMARK).unwrap();
    let expected = [
        ("bias_read", "6"),
        ("buffered", "off"),
        ("number", "700"),
        ("pm_seed", "9"),
        ("read_block", "1024"),
        ("size_high", "9000"),
        ("size_low", "600"),
        ("subdirectories", "4"),
        ("transactions", "800"),
    ];
    let found: Vec<(&str, &str)> =
        brought.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(found, expected);
    for (text, why) in [
        ("set number 5\nset nubmer 6\n", "dir/file:2: set nubmer 6: PostMark sets no `nubmer`"),
        ("set number 5\nload x\n", "dir/file:2: load x: it reads another file"),
        ("set number five\n", "dir/file:1: set number five: `five` is no whole number"),
        ("set location /a\nset location /b\n", "several locations"),
        ("set number 5\nrun\nset number 6\n", "behind `run`"),
        ("set size 5 x\n", "dir/file:1: set size 5 x: `x` is no whole number"),
    ] {
        let said = read(text).unwrap_err();
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn a_profile_of_ffsb_becomes_groups_and_parameters() {
    let (_, brought) = read(FFSB).unwrap();
    let of = |name: &str| brought.parameters[name].as_str();
    let files = [of("files"), of("directories"), of("min_size"), of("max_size"), of("time")];
    assert_eq!(files, ["50", "5", "4096", "65536", "30s"]);
    assert_eq!([of("direct"), of("align")], ["off", "off"]);
    let profile: toml::Table = of("profile").parse().unwrap();
    let groups = profile["group"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["threads"].as_integer(), Some(3));
    assert_eq!(groups[0]["weights"]["read"].as_integer(), Some(4));
    assert_eq!(groups[0]["op_size"].as_str(), Some("8192"));
    assert_eq!(groups[0]["places"].as_str(), Some("sequential"));
    assert_eq!(groups[1]["delay"].as_str(), Some("5ms"));

    let with = |line: &str| FFSB.replace("read_weight=4 # most", line);
    for (text, why) in [
        (with("read_weight=4\n\tsize_weight 4k 33"), "dir/file:16: size_weight 4k 33: sizes by"),
        (with("stat_weight=1"), "dir/file:15: stat_weight=1: ops of this kind"),
        (with("reed_weight=4"), "dir/file:15: reed_weight=4: FFSB has no such option"),
        (with("read_weight=x"), "no whole number"),
        (FFSB.replace("write_size=8192", "write_size=4096"), "split it into two groups"),
        (FFSB.replace("directio=0", "directio=2"), "0 or 1"),
    ] {
        let said = read(&text).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    let without = FFSB.replace("\tnum_files=50\n\tnum_dirs=5\n", "");
    let (_, few) = read(&without).unwrap();
    assert_eq!((&*few.parameters["files"], &*few.parameters["directories"]), ("1", "1"));
    assert!(few.notes[0].contains("num_files=0"), "{:?}", few.notes);
    let sizeless = read(&FFSB.replace("\tmin_filesize=4096\n", "")).unwrap_err();
    assert!(sizeless.contains("min_filesize is missing"), "{sizeless}");
    assert!(read(&with("stat_weight=0\n\tread_weight=4")).is_ok());
}

#[test]
fn any_text_is_read_or_refused() {
    let seeds = [POSTMARK, FFSB].map(|text| text.as_bytes().to_vec());
    fuzz::run("brought", &seeds, |input| drop(read(&String::from_utf8_lossy(input))));
}
