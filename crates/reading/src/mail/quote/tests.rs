//! Quote removal on small texts in many languages: history is removed and what the customer wrote is kept. In
//! doubt everything is kept.

use proptest::prelude::*;

use super::*;

fn is_cut(history: &str) {
    let text = format!("Thanks, that works!\n\nAnn\n\n{history}\n\nOld words here.\nMore of them.");
    assert_eq!(without_history(&text), "Thanks, that works!\n\nAnn", "{history}");
    is_cut_when_quoted(history);
}

fn is_cut_when_quoted(history: &str) {
    let quoted = format!("Thanks, that works!\n\nAnn\n\n{history}\n> Old words.\n>\n> More.\n");
    assert_eq!(without_history(&quoted), "Thanks, that works!\n\nAnn", "quoted: {history}");
}

fn is_kept(text: &str) {
    assert_eq!(without_history(text), text);
}

#[test]
fn attribution_lines_are_cut_in_many_languages() {
    for line in [
        "On Tue, Mar 12, 2026 at 10:00 AM Bob <bob@acme.test> wrote:",
        "On 3/12/26 10:00, Bob wrote:",
        "On Mar 12, 2026, at 10:00, Bob <bob@acme.test> wrote:",
        "On Tuesday, March 12th, 2026 at 10:00 AM, Bob <bob@acme.test> wrote:",
        "Am 12.03.26 um 10:00 schrieb Bob:",
        "Am Di., 12. März 2026 um 10:00 Uhr schrieb Bob <bob@acme.test>:",
        "Bob hat am 12.03.2026 10:00 geschrieben:",
        "Le mar. 12 mars 2026 à 10:00, Bob <bob@acme.test> a écrit :",
        "El mar, 12 mar 2026 a las 10:00, Bob (<bob@acme.test>) escribió:",
        "Il giorno mar 12 mar 2026 alle ore 10:00 Bob <bob@acme.test> ha scritto:",
        "Em ter., 12 de mar. de 2026 às 10:00, Bob <bob@acme.test> escreveu:",
        "Op di 12 mrt 2026 om 10:00 schreef Bob <bob@acme.test>:",
        "Den tis 12 mars 2026 kl 10:00 skrev Bob <bob@acme.test>:",
        "Den tirs. 12. mar. 2026 kl. 10.00 skrev Bob <bob@acme.test>:",
        "tir. 12. mar. 2026 kl. 10:00 skrev Bob <bob@acme.test>:",
        "ti 12. maalisk. 2026 klo 10.00 Bob (bob@acme.test) kirjoitti:",
        "W dniu 12.03.2026 o 10:00, Bob pisze:",
        "wt., 12 mar 2026 o 10:00 Bob <bob@acme.test> napisał(a):",
        "Dne 12. 3. 2026 v 10:00 Bob napsal(a):",
        "út 12. 3. 2026 v 10:00 odesílatel Bob <bob@acme.test> napsal:",
        "Bob <bob@acme.test>, 12 Mar 2026 Sal, 10:00 tarihinde şunu yazdı:",
        "вт, 12 мар. 2026 г. в 10:00, Bob <bob@acme.test>:",
        "12 марта 2026 г., в 10:00, Bob <bob@acme.test> написал(а):",
        "2026年3月12日(火) 10:00 Bob <bob@acme.test>:",
        "2026/03/12 10:00、Bob <bob@acme.test>のメール:",
        "Bob <bob@acme.test> 于2026年3月12日周二 10:00写道：",
        "2026년 3월 12일 (화) 오전 10:00, Bob <bob@acme.test>님이 작성:",
    ] {
        // Without an address a person may have written it.
        if line.contains('@') {
            is_cut(line);
        } else {
            is_cut_when_quoted(line);
        }
    }
}

#[test]
fn an_attribution_without_date_or_address_needs_quoted_lines() {
    is_cut_when_quoted("Bob <bob@acme.test> wrote:");
    is_cut_when_quoted("On 12 March Bob wrote:");
    is_cut_when_quoted("Quoting Bob <bob@acme.test>:");
    is_kept("Hello,\n\nBob <bob@acme.test> wrote:\nyou will have it.\n\nI do not.");
}

#[test]
fn wrapped_attribution_lines_are_cut() {
    is_cut("On Tue, Mar 12, 2026 at 10:00 AM Bob Builder <bob@acme.test>\nwrote:");
    is_cut("On Tue, Mar 12, 2026 at 10:00 AM Bob Builder\n<bob@acme.test> wrote:");
    is_cut("út 12. 3. 2026 v 10:00 odesílatel Bob Builder\n<bob@acme.test> napsal:");
    is_cut_when_quoted("در تاریخ سه‌شنبه ۱۰ مارس ۲۰۲۶ ساعت ۹:۱۴ باب\n<bob@acme.test> نوشت:");
    is_cut("On Tue, Mar 12, 2026 at 10:00 AM\nBob Builder of the long name\n<bob@acme.test> wrote:");
    is_cut("Am Di., 12. März 2026 um 10:00 Uhr schrieb Bob Builder\n<bob@acme.test>:");
}

#[test]
fn the_line_above_an_attribution_is_not_part_of_it() {
    let text = "On the 2nd nothing came\nOn 3/12/26 10:00, Bob wrote:\n> old";
    assert_eq!(without_history(text), "On the 2nd nothing came");
    let text = "I came on 3.3.2026 at 10:30\nand on 5.3.2026 at 14:00\nOn 3/12/26 10:00, Bob wrote:\n> old";
    assert_eq!(without_history(text), "I came on 3.3.2026 at 10:30\nand on 5.3.2026 at 14:00");
    let text = "My number is 555 0142\nAnn\nOn 3/12/26 10:00, Bob <bob@acme.test> wrote:\n> old";
    assert_eq!(without_history(text), "My number is 555 0142\nAnn");
    let text = "Tilaus 123 ei tullut\nBob <bob@acme.test> kirjoitti 12.3.2026 klo 10:00:\n> old";
    assert_eq!(without_history(text), "Tilaus 123 ei tullut");
}

#[test]
fn outlook_header_blocks_are_cut() {
    for block in [
        "From: Bob <bob@acme.test>\nSent: Tuesday, March 12, 2026 10:00 AM\nTo: Ann <ann@x.test>\nSubject: RE: Order",
        "________________________________\nFrom: Bob <bob@acme.test>\nSent: Tuesday\nTo: Ann\nSubject: Order",
        "*From:* Bob\n*Sent:* Tuesday\n*To:* Ann\n*Cc:* Carl\n*Subject:* Order",
        "Von: Bob <bob@acme.test>\nGesendet: Dienstag, 12. März 2026 10:00\nAn: Ann\nBetreff: AW: Order",
        "De : Bob <bob@acme.test>\nEnvoyé : mardi 12 mars 2026 10:00\nÀ : Ann\nObjet : RE: Order",
        "De: Bob\nEnviado el: martes\nPara: Ann\nAsunto: RE: Order",
        "Da: Bob\nInviato: martedì\nA: Ann\nOggetto: R: Order",
        "Van: Bob\nVerzonden: dinsdag\nAan: Ann\nOnderwerp: RE: Order",
        "Från: Bob\nSkickat: tisdag\nTill: Ann\nÄmne: SV: Order",
        "Fra: Bob\nSendt: tirsdag\nTil: Ann\nEmne: SV: Order",
        "Lähettäjä: Bob\nLähetetty: tiistai\nVastaanottaja: Ann\nAihe: VS: Order",
        "Od: Bob\nWysłano: wtorek\nDo: Ann\nTemat: ODP: Order",
        "Od: Bob\nOdesláno: úterý\nKomu: Ann\nPředmět: RE: Order",
        "Kimden: Bob\nGönderildi: Salı\nKime: Ann\nKonu: YNT: Order",
        "От: Bob\nОтправлено: вторник\nКому: Ann\nТема: RE: Order",
        "差出人: Bob\n送信日時: 2026年\n宛先: Ann\n件名: RE: Order",
        "发件人: Bob\n发送时间: 2026年\n收件人: Ann\n主题: RE: Order",
        "보낸 사람: Bob\n보낸 날짜: 2026\n받는 사람: Ann\n제목: RE: Order",
    ] {
        is_cut(block);
    }
}

#[test]
fn markers_are_cut() {
    for marker in [
        "-----Original Message-----",
        "------- Original Message -------",
        "---------- Forwarded message ---------",
        "Begin forwarded message:",
        "-----Ursprüngliche Nachricht-----",
        "-------- Weitergeleitete Nachricht --------",
        "-----Message d'origine-----",
        "-----Mensaje original-----",
        "-----Messaggio originale-----",
        "-----Mensagem original-----",
        "-----Oorspronkelijk bericht-----",
        "-----Ursprungligt meddelande-----",
        "-----Исходное сообщение-----",
        "------------------ 原始邮件 ------------------",
        "-----원본 메시지-----",
        "--- words we do not know ---\nFrom: bob@acme.test\nDate: today",
    ] {
        is_cut(marker);
    }
}

#[test]
fn a_tail_of_quoted_lines_is_cut() {
    assert_eq!(without_history("Yes please.\n\n> Shall we?\n>> Maybe\n>\n"), "Yes please.");
}

#[test]
fn answers_between_quoted_lines_are_kept() {
    is_kept("On 3/12/26 10:00, Bob wrote:\n> Which size?\nLarge.\n> Which colour?\nBlue, please.");
    let text = "Hi,\n\nOn 3/12/26 10:00, Bob wrote:\n> Which size?\nLarge.\n> More\n> of it";
    assert!(without_history(text).ends_with("> Which size?\nLarge."));
    is_kept("-----Original Message-----\n> Which size?\nLarge.\n> Which colour?\nBlue.");
}

#[test]
fn an_answer_below_the_whole_quote_is_kept_without_it() {
    let quote = "On 3/12/26 10:00, Bob wrote:\n> Which size?\n>\n> Bob";
    assert_eq!(without_history(&format!("{quote}\n\nLarge, please.\n\nAnn")), "Large, please.\n\nAnn");
    assert_eq!(without_history(&format!("Hi Bob,\n\n{quote}\n\nLarge.")), "Hi Bob,\n\nLarge.");
    let signed = format!("Large.\n\nPlease hurry.\n\n{quote}\n-- \nAnn");
    assert_eq!(without_history(&signed), "Large.\n\nPlease hurry.\n\n-- \nAnn");
    is_kept(&format!("I complain.\nIt is like this.\n\n{quote}\n\nNobody came."));
    is_kept(&format!("You promised:\n\n{quote}\n\nNobody came."));
}

#[test]
fn history_the_customer_writes_in_or_about_is_kept() {
    let history = "From: Bob <bob@acme.test>\nSent: Tuesday\nTo: Ann\nSubject: Order\n\nWhich size?\nLarge.";
    is_kept(&format!("My answers are below.\n\nAnn\n\n{history}"));
    is_kept(&format!("Antworten in rot!\n\n{history}"));
    is_kept("My answers are below.\n\nOn 3/12/26 10:00, Bob wrote:\n> Which size?\n> Large.");
    is_kept(&format!("I got this mail:\n\n{history}\n\nIs it yours?"));
    assert_eq!(without_history(&format!("I take it in red.\n\n{history}")), "I take it in red.");
}

#[test]
fn a_new_mail_has_no_history_unless_it_is_marked() {
    let mail = |head: &str, text: &str| {
        let raw = format!("From: web@x.test\n{head}\n\n{text}");
        own_words(&crate::mail::parse::parse(raw.as_bytes()).expect("a mail"))
    };
    let block = "From: Ann <ann@x.test>\nDate: 10.03.2026\nSubject: Kitchen\n\nAn offer, please.";
    let text = format!("A request from your site\n\n{block}");
    assert_eq!(mail("Subject: New request", &text), text);
    for head in ["Subject: AW: Request", "Subject: Fwd: Kitchen", "Subject: 回复：好", "In-Reply-To: <a@b>"]
    {
        assert_eq!(mail(head, &text), "A request from your site", "{head}");
    }
    assert_eq!(mail("Subject: Hi", "Yes\n\nOn 3/12/26 10:00, Bob wrote:\n> Old?"), "Yes");
    assert_eq!(mail("Subject: Hi", "Wishes\n\n> larger print"), "Wishes\n\n> larger print");
    assert_eq!(mail("Subject: Re: Hi", "Yes\n\n> larger print?"), "Yes");
    assert_eq!(mail("Subject: Hi", "Yes\n\n-----Original Message-----\nOld?"), "Yes");
}

#[test]
fn own_sentences_that_look_alike_are_kept() {
    is_kept(
        "Hello,\nOn 3 March 2026 at 10:30 your colleague Tom wrote:\nwe will refund you\nbut nothing came.",
    );
    is_kept("Hello,\nOn 3/12/26 at 10:30 Bob <bob@acme.test> wrote that you pay:\nyou did not.");
    is_kept("Two things.\n\nSubject: my deposit\nDate: due in May\nTo: my account\n\nPay now.");
    is_kept("It shows an error above\n> 30 degrees");
    is_kept("We need:\n\n> two chairs\n> one table");
    is_kept("On Monday I wrote: hello\nand nobody answered.");
    is_kept("On Monday I wrote:\nhello");
    is_kept("On 3 March 2026 at 10:30 I wrote:\nplease cancel my order");
    is_kept("Hello,\nOn 3 March your colleague wrote:\nwe will refund you\nbut nothing came.");
    is_kept("Please book:\nFrom: Berlin\nTo: Hamburg\nDate: 12 March\nTwo people.");
    is_kept("The original message was lost.\nPlease send it again.");
    is_kept("New request\nFrom: Ann <ann@x.test>\nDate: today\nSubject: Help\nMessage: my words");
    is_kept("Please book\n--- our trip ---\nFrom: Berlin\nDate: 12 March\n\nTwo people.");
    is_kept("I want two things:\n- one\n- two\n-----\nThanks");
}

#[test]
fn nothing_left_means_all_is_kept() {
    is_kept("On 3/12/26 10:00, Bob wrote:\n> only this");
    is_kept("> only\n> this");
    is_kept("Sent from my iPhone\n\nBegin forwarded message:\n\nFrom: Bob\nthe bill is attached");
    assert_eq!(without_history("👍\n\n> ok?"), "👍");
}

#[test]
fn html_answers_of_common_programs_lose_their_history() {
    for history in [
        "<br><div class=\"gmail_quote\"><div dir=ltr class=gmail_attr>On Tue, Mar 12, 2026 at 10:00 AM Bob &lt;<a href=\"mailto:bob@acme.test\">bob@acme.test</a>&gt; wrote:<br></div><blockquote class=\"gmail_quote\" style=\"border-left:1px solid\"><p>Old words</p><blockquote class=gmail_quote>older</blockquote></blockquote></div>",
        "<div><br><blockquote type=\"cite\"><div>On Mar 12, 2026, at 10:00, Bob &lt;bob@acme.test&gt; wrote:</div><br><div>Old words</div></blockquote></div>",
        "<div id=\"appendonsend\"></div><hr style=\"width:98%\"><div id=\"divRplyFwdMsg\"><font><b>From:</b> Bob &lt;bob@acme.test&gt;<br><b>Sent:</b> Tuesday<br><b>To:</b> Ann<br><b>Subject:</b> Order</font></div><div>Old words</div>",
        "<div style='border:none;border-top:solid #E1E1E1 1.0pt'><p class=MsoNormal><b><span>From:</span></b><span> Bob &lt;bob@acme.test&gt; <br><b>Sent:</b> Tuesday<br><b>To:</b> Ann<br><b>Subject:</b> Order</span></p></div><p>Old words</p>",
        "<div id=\"ydp1yahoo_quoted_9\" class=\"yahoo_quoted\"><div>On Tuesday, March 12, 2026 at 10:00:00 AM GMT+1, Bob &lt;bob@acme.test&gt; wrote:</div><div>Old words</div></div>",
        "<div class=\"moz-cite-prefix\">On 3/12/26 10:00, Bob wrote:<br></div><blockquote type=\"cite\" cite=\"mid:x\"><p>Old words</p></blockquote>",
        "<div class=\"protonmail_quote\">On Tuesday, March 12th, 2026 at 10:00 AM, Bob &lt;bob@acme.test&gt; wrote:<br><blockquote class=\"protonmail_quote\" type=\"cite\">Old words</blockquote></div>",
    ] {
        let raw = format!(
            "From: a@b.test\nContent-Type: text/html\n\n<html><body><div>New words</div>{history}</body></html>"
        );
        let mail = crate::mail::parse::parse(raw.as_bytes()).expect("a mail");
        assert!(mail.text.contains("Old words"), "{history}");
        assert_eq!(without_history(&mail.text), "New words", "{}", mail.text);
    }
}

#[test]
fn a_text_of_very_many_lines_costs_no_more_than_a_long_one() {
    for line in ["a <a@b>:", "1 wrote:", "From: a@b", ">", "-----", "> a\nb", ""] {
        let text = format!("{line}\n").repeat(100_000);
        let begun = std::time::Instant::now();
        assert!(!without_history(&text).is_empty());
        assert!(begun.elapsed().as_secs() < 20, "{line}: {:?}", begun.elapsed());
    }
}

proptest! {
    #[test]
    fn any_text_gives_lines_of_its_own(text in ".{0,400}") {
        prop_assert!(is_of(&without_history(&text), &text));
    }

    #[test]
    fn any_mix_of_phrases_gives_lines_of_its_own(
        pieces in proptest::collection::vec(prop::sample::select(PIECES), 0..40)
    ) {
        let text = pieces.concat();
        prop_assert!(is_of(&without_history(&text), &text));
    }
}

fn is_of(kept: &str, text: &str) -> bool {
    let mut lines = text.lines();
    kept.lines().filter(|line| !line.is_empty()).all(|kept| lines.any(|line| line == kept))
}

const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    "> ",
    ">",
    "On ",
    "12 Mar 2026 10:00",
    " wrote:",
    "<a@b.test>",
    ":",
    "From: a@b.test\n",
    "Sent: x\n",
    "To: y\n",
    "Subject: z\n",
    "-----Original Message-----\n",
    "_____\n",
    "words",
    "Am ",
    "schrieb",
    "写道：",
    "\r\n",
    "ä",
    "12.",
    ".30",
    "é",
];
