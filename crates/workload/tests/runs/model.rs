//! Filebench models, run for real with verification: their counts are those of their text.

use workload::{Inputs, PhaseStatus};

use crate::support::{Ran, run_with, scratch};
use crate::watching::refused;

fn play(model: &str, seed: u64, settings: &[(&str, &str)]) -> Ran {
    let target = scratch();
    let settings: Vec<_> = [("file", model)].into_iter().chain(settings.iter().copied()).collect();
    let ran = run_with("filebench", target.path(), &Inputs::default(), seed, &settings);
    assert!(ran.ended.is_ok(), "{:?}", ran.ended);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0, "nothing is left");
    ran
}

/// A mail spool and a log that all share.
const MAIL: &str = "
set $size=cvar(type=cvar-gamma,parameters=mean:2048;gamma:1.5)
define fileset name=spool,path=/tmp,size=$size,entries=50,dirwidth=5,prealloc=80
define fileset name=logs,path=/tmp,size=0,entries=1,dirwidth=5,prealloc
define process name=server,instances=1
{
  thread name=worker,memsize=1m,instances=3
  {
    flowop deletefile name=gone,filesetname=spool
    flowop createfile name=new,filesetname=spool,fd=1
    flowop writewholefile name=body,srcfd=1,fd=1,iosize=1k
    flowop fsync name=safe,fd=1
    flowop closefile name=shut,fd=1
    flowop statfile name=look,filesetname=spool,iters=2
    flowop openfile name=open,filesetname=spool,fd=2
    flowop readwholefile name=all,fd=2,iosize=4k
    flowop closefile name=close,fd=2
    flowop appendfile name=log,filesetname=logs,iosize=100,fd=3
    flowop hog name=think,value=10
  }
}
";

pub(crate) fn a_model_does_what_its_lists_say() {
    let ran = play(MAIL, 1, &[("loops", "20")]);
    let run = ran.phase("run");
    assert_eq!(run.status, PhaseStatus::Completed);
    for (op, each) in [("createfile", 1), ("fsync", 1), ("statfile", 2), ("readwholefile", 1)] {
        assert_eq!(run.latencies[op].count(), 3 * 20 * each, "{op}: {:?}", run.notes);
    }
    assert_eq!(run.latencies["appendfile"].count(), 60);
    assert_eq!((run.figures["lists"], run.latencies.contains_key("hog")), (60.0, false));
    // 80 percent of 50 files and the log.
    let made = ran.phase("create").ops;
    assert!((30..=50).contains(&made), "{made}");
    let digest = |seed| play(MAIL, seed, &[("loops", "5")]).phase("run").digest;
    assert_eq!(digest(1), digest(1));
    let timed = play(MAIL, 1, &[("time", "30ms")]);
    assert!(timed.phase("run").ops > 0 && timed.phase("run").wall.0 >= 30_000_000);
}

pub(crate) fn what_finishes_on_a_count_ends_there() {
    let model = "set mode quit firstdone\n\
        define file name=big,path=/tmp,size=64k,prealloc\n\
        define process name=p { thread name=t {\n\
        flowop read name=r,filename=big,iosize=4k,random\n\
        flowop finishoncount name=f,value=30,target=r\n} }\nrun\n";
    let ran = play(model, 1, &[]);
    assert_eq!(ran.phase("run").latencies["read"].count(), 30);
    assert_eq!(ran.phase("run").read_bytes.0, 30 * 4096);
}

pub(crate) fn writers_wait_for_the_posts_of_readers_and_write_behind() {
    let model = "define fileset name=data,path=/tmp,size=64k,entries=4,prealloc\n\
        define process name=w,instances=2 { thread name=w {\n\
        flowop aiowrite name=a,filename=data,iosize=4k,random,iters=6,opennext\n\
        flowop semblock name=block,value=10,highwater=20\n\
        flowop aiowait name=wait\n} }\n\
        define process name=r,instances=2 { thread name=r {\n\
        flowop read name=get,filename=data,iosize=2k,random,opennext\n\
        flowop sempost name=post,value=1,target=block,blocking\n} }\n";
    let ran = play(model, 1, &[("loops", "50")]);
    let run = ran.phase("run");
    assert_eq!(run.latencies["read"].count(), 100);
    // 100 posts to each of the two writers let each go on ten times; it writes once more before it
    // waits again.
    let writes = run.latencies["aiowrite"].count();
    assert!((2 * 6..=2 * 6 * 11).contains(&writes), "{writes}");
    // Threads have a file open at the same time.
    assert_eq!(run.notes, [""; 0]);
}

pub(crate) fn events_limit_the_rate_of_a_flowop() {
    let model = "eventgen rate=200\n\
        define file name=f,path=/tmp,size=64k,prealloc\n\
        define process name=p,instances=2 { thread name=t {\n\
        flowop read name=get,filename=f,iosize=1k,random\n\
        flowop opslimit name=limit,target=get\n} }\n";
    let ran = play(model, 1, &[("loops", "40")]);
    // 80 reads at 200 a second; the last ones wait for their events.
    let wall = ran.phase("run").wall.0;
    assert!(wall >= 80 * 5_000_000, "{wall} ns");
    assert_eq!(ran.phase("run").ops, 80);
}

pub(crate) fn what_is_wrong_is_refused_with_its_line() {
    let said = |model: &str| refused("filebench", &format!("file={model}")).unwrap();
    assert!(said("run_5").contains("line 1"), "{}", said("run_5"));
}
