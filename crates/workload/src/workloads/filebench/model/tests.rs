//! Models are read as Filebench reads them, or refused with their line.

use super::*;

fn read(text: &str) -> Result<Model, Problem> {
    Model::read(text, &BTreeMap::new())
}

/// A model of our own in the same grammar, with what a mail server's has.
const MAIL: &str = r#"
# a mail spool
set $place=/tmp
set $count=40
set $size=cvar(type=cvar-gamma,parameters=mean:2048;gamma:1.5)
set $workers=3
set mode quit timeout
define fileset name=spool,path=$place,size=$size,entries=$count,dirwidth=20,prealloc=80
define process name=server,instances=2 {
  thread name=worker,memsize=10m,instances=$workers
  {
    flowop deletefile name=gone,filesetname=spool
    flowop createfile name=new,filesetname=spool,fd=1
    flowop appendfilerand name=body,
        iosize=4k,fd=1
    flowop fsync name=safe,fd=1
    flowop closefile name=shut,fd=1
  }
}
echo  "loaded"
usage "Usage: set \$place=<dir>"
run 60
"#;

#[test]
fn a_model_says_what_its_text_says() {
    let model = read(MAIL).unwrap();
    assert_eq!((model.thread_count(), model.seconds, model.rate), (6, Some(60), None));
    let [set] = &model.sets[..] else { panic!("{model:?}") };
    assert_eq!((&*set.name, set.entries, set.width, set.percent), ("spool", 40, 20, 80));
    assert_eq!((set.size.mean(), set.gamma), (2048.0, 1500));
    let does: Vec<Does> = model.flowops().map(|flowop| flowop.does).collect();
    let expected = [Does::Delete, Does::Create, Does::AppendRandom, Does::Fsync, Does::Close];
    assert_eq!(does, expected);
    assert_eq!(model.threads[0].list[2].iosize.fixed(), Some(4096));
    assert!(is_model(MAIL) && !is_model("[job]\nrw=read\n") && !is_model("set number 5\nrun\n"));
}

#[test]
fn values_from_outside_replace_those_of_the_model() {
    let given = [("count", "7"), ("size", "1m")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let model = Model::read(MAIL, &given.into()).unwrap();
    assert_eq!((model.sets[0].entries, model.sets[0].size.fixed()), (7, Some(1 << 20)));
    let unknown = BTreeMap::from([("cuont".to_owned(), "7".to_owned())]);
    let said = Model::read(MAIL, &unknown).unwrap_err().to_string();
    assert!(said.contains("$cuont") && said.contains("did you mean `count`?"), "{said}");
}

#[test]
fn what_is_not_known_is_told_with_its_line() {
    let process = |list: &str| {
        format!(
            "define fileset name=s,path=/tmp,size=1k,entries=5\n\
             define process name=p {{ thread name=t {{\n{list}\n}} }}\n"
        )
    };
    for (text, line, why) in [
        (process("flowop opnefile name=a,filesetname=s,fd=1"), 3, "did you mean `openfile`?"),
        (process("flowop openfile name=a,filesetname=x,fd=1"), 3, "there is no fileset x"),
        (process("flowop openfile name=a,filesetname=s,fd=1,speed=5"), 3, "attribute `speed`"),
        (process("flowop openfile name=a,filesetname=s,fd=1"), 3, "still open"),
        (process("flowop closefile name=a,fd=1"), 3, "fd=1 is not open"),
        (process("flowop read name=a,filesetname=s"), 3, "iosize"),
        (process("flowop makedir name=a,filesetname=s"), 3, "makedir"),
        (process("flowop sempost name=a,value=1,target=b"), 3, "there is no semblock b"),
        (process("flowop closefile name=a,fd=500"), 3, "not below 128"),
        ("system \"rm x\"\n".to_owned(), 1, "runs a program"),
        ("\nrun $x\n".to_owned(), 2, "$x is not set"),
        ("run 1\nrun 2\n".to_owned(), 2, "only one"),
        ("define fileset name=s,path=/dev,size=1\n".to_owned(), 1, "device"),
        ("define flowop name=x { }\n".to_owned(), 1, "composite"),
        ("set $x=cvar(type=cvar-zipf,parameters=a:1)\n".to_owned(), 1, "cvar-zipf"),
        ("walk 5\n".to_owned(), 1, "no command"),
        ("run 5\n".to_owned(), 1, "no process"),
    ] {
        let problem = read(&text).unwrap_err();
        assert!(problem.line == line && problem.what.contains(why), "{text}: {problem}");
    }
}

#[test]
fn any_text_is_read_or_refused() {
    let seeds = [MAIL.as_bytes().to_vec()];
    fuzz::run("filebench-model", &seeds, |input| drop(read(&String::from_utf8_lossy(input))));
}
