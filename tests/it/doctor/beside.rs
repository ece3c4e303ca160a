//! What stands beside the service, broken one at a time.

use rookery_base::confined::run::Confined;
use rookery_upkeep::doctor::given::Given;

use super::healthy::Healthy;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scanner_reader_recognition_and_model() {
    let healthy = Healthy::start().await;
    healthy.breaks("scanner", &[("CLAMD", "tcp://127.0.0.1:1")]).await;
    let model = [("ASSISTANTS_URL", "http://127.0.0.1:1/v1"), ("ASSISTANTS_MODEL", "small")];
    healthy.breaks("model", &model).await;
    let deaf = Given { tesseract: Some("/usr/bin/tesseract".into()), languages: None, ..healthy.given() };
    healthy.off("text-recognition", &[], deaf).await;
    let mut app = healthy.app(&[]);
    app.confined = Confined::by("/bin/false".into());
    healthy.off_app("file-reader", app, healthy.given()).await;
    healthy.is_well().await;
}
