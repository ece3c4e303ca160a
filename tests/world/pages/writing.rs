//! The composer as a page has it, filled in and sent as a browser without script does.

use chrono::TimeDelta;
use rookery_base::ids::{ConversationId, MailboxId};

use crate::browser::{Browser, Shown};
use crate::{Workspace, World};

pub const WINDOW: TimeDelta = TimeDelta::minutes(10);

/// The form of a composer as a page has it.
#[derive(Clone)]
pub struct Composer {
    pub html: String,
    fields: Vec<(String, String)>,
}

impl Composer {
    pub async fn open(browser: &Browser<'_>, path: &str) -> Self {
        Self::of(browser.get(path).await.page())
    }

    pub fn of(html: String) -> Self {
        let form = html.split("id=\"composer-form\"").nth(1).expect("a composer");
        let form = form.split("</form>").next().unwrap();
        let mut fields = Vec::new();
        for tag in form.split("<input ").skip(1).map(|tag| tag.split('>').next().unwrap()) {
            // A browser sends only what is ticked.
            let is_choice = tag.contains("type=\"checkbox\"") || tag.contains("type=\"radio\"");
            if (is_choice && !tag.contains(" checked")) || tag.contains(" disabled") {
                continue;
            }
            if let Some(name) = attribute(tag, "name").filter(|name| *name != "file" && *name != "at") {
                fields.push((name.to_owned(), unescaped(attribute(tag, "value").unwrap_or_default())));
            }
        }
        for tag in form.split("<textarea ").skip(1) {
            let (head, rest) = tag.split_once('>').unwrap();
            let text = rest.split("</textarea>").next().unwrap();
            let text = text.strip_prefix('\n').unwrap_or(text);
            fields.push((attribute(head, "name").unwrap().to_owned(), unescaped(text)));
        }
        for name in ["mailbox", "from"] {
            let Some(select) = form.split(&format!("name=\"{name}\"")).nth(1) else { continue };
            let select = select.split("</select>").next().unwrap();
            let chosen = select.split("<option ").skip(1).find(|option| option.contains(" selected"));
            let value = chosen.and_then(|option| attribute(option, "value")).unwrap_or_default();
            fields.push((name.to_owned(), value.to_owned()));
        }
        Self { html, fields }
    }

    pub fn get(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no field {name}"))
    }

    pub fn set(mut self, name: &str, value: &str) -> Self {
        match self.fields.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => *own = value.to_owned(),
            None => self.fields.push((name.to_owned(), value.to_owned())),
        }
        self
    }

    /// As the editor of the page fills it in. The words of a text that it did not write must not be used.
    pub fn formatted(self, html: &str) -> Self {
        self.set("rich", "1").set("html", html).set("body", "(the words of the page)")
    }

    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| own == name)
    }

    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(own, _)| own != name);
        self
    }

    /// Presses a button.
    pub async fn press(&self, browser: &Browser<'_>, action: &str, button: (&str, &str)) -> Shown {
        let mut fields: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        fields.push(button);
        browser.post(action, &fields).await
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!("{name}=\""))? + name.len() + 2;
    tag[start..].split('"').next()
}

pub fn unescaped(text: &str) -> String {
    let plain = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"").replace("&#39;", "'");
    plain.replace("&#38;", "&")
}

pub async fn inbox(acme: &Workspace<'_>) -> MailboxId {
    acme.mailbox("help@acme.example", "Help").await
}

/// A mail with headers of its own.
pub async fn mail(acme: &Workspace<'_>, inbox: MailboxId, headers: &str, text: &str) -> ConversationId {
    match acme.receives_confirmed(inbox, &format!("{headers}\n\n{text}\n")).await {
        rookery_mail::incoming::delivery::Received::Stored(stored) => stored.conversation,
        other => panic!("{other:?}"),
    }
}

pub fn write(id: ConversationId) -> String {
    format!("/conversations/{id}/write")
}

pub fn reply(id: ConversationId) -> String {
    format!("/conversations/{id}?compose=reply")
}

pub async fn leaves(world: &World) {
    world.wait(WINDOW);
    world.work().await;
}
