//! What stands beside the service and is not needed by it: a scanner for viruses, the walls around strangers' files,
//! recognition of text, a model. What is not set up is right; what is set up has to work.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::doctor::given::Given;
use crate::doctor::row::{CheckRow, RowJudgement, right, wrong};
use rookery_base::app::App;
use rookery_base::confined::job::Job;
use rookery_base::confined::run::{Broken, RunOutcome};
use rookery_base::error::Result;
use rookery_base::net::clamd::Scanned;

const PATIENCE: Duration = Duration::from_secs(10);

pub async fn inspect(app: &App, given: &Given) -> Vec<CheckRow> {
    vec![
        CheckRow::new("scanner", "not set, or it calls a harmless file clean", scanner(app).await),
        CheckRow::from_result("file-reader", "strangers' files can be read behind walls", reader(app).await),
        CheckRow::new("text-recognition", "not installed, or with a language", recognition(given)),
        CheckRow::new("model", "not set, or it can be reached", model(app).await),
    ]
}

async fn scanner(app: &App) -> RowJudgement {
    let Some(clamd) = &app.config.clamd else {
        return right("not set: files of customers are not looked through");
    };
    let fix = "Start it, or fix `ROOKERY_CLAMD`: `systemctl status clamav-daemon` Until then customers' files wait.";
    match timeout(PATIENCE, clamd.scan(b"a file of rookery doctor, which harms nobody")).await {
        Ok(Scanned::Clean) => right(format!("{clamd} answers")),
        Ok(Scanned::Found(name)) => wrong(format!("{clamd} calls a harmless file {name}"), fix),
        Ok(Scanned::Away(why)) => wrong(format!("{clamd}: {why}"), fix),
        Err(_) => wrong(format!("{clamd} does not answer in time"), fix),
    }
}

async fn reader(app: &App) -> Result<RowJudgement> {
    let fix =
        "The kernel needs seccomp, and best Landlock too (5.13 or newer). Until then files are filed unread.";
    Ok(match app.confined.run(&Job::Read, Bytes::from_static(b"Hello")).await? {
        RunOutcome::Said(_) => right("a file was read"),
        RunOutcome::Broken(Broken::Unsafe) => wrong("this machine cannot wall a process in", fix),
        RunOutcome::Broken(why) => wrong(format!("the reader failed ({why:?})"), fix),
    })
}

fn recognition(given: &Given) -> RowJudgement {
    match (&given.tesseract, &given.languages) {
        (None, _) => right("not installed: scans and pictures are filed unread"),
        (Some(program), Some(languages)) => right(format!("{} with {languages}", program.display())),
        (Some(program), None) => wrong(
            format!("{} has no language", program.display()),
            "Install one: `apt install tesseract-ocr-eng tesseract-ocr-deu`",
        ),
    }
}

async fn model(app: &App) -> RowJudgement {
    let Some(address) = &app.config.assistants_url else { return right("not set") };
    let host = address.host_str().unwrap_or_default();
    match app.models.way(true).reach(address).await {
        Ok(()) => right(format!("{host} answers")),
        Err(failure) => wrong(
            format!("{host}: {failure}"),
            "Start the model's server, or fix `ROOKERY_ASSISTANTS_URL`. Until then assistants do nothing.",
        ),
    }
}
