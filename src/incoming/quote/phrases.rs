//! The words with which mail programs introduce quoted history, by language, in lower case.
//! Data only; the rule that reads it is in `quote.rs`. Specification 2.4.

/// How a language says "On <date> <someone> wrote:".
pub(super) struct Attribution {
    /// How the line may begin; empty when it begins with the date or the name.
    pub openings: &'static [&'static str],
    pub verbs: &'static [&'static str],
    /// What only a person writes: "I wrote".
    pub own: &'static [&'static str],
}

const fn language(
    openings: &'static [&'static str],
    verbs: &'static [&'static str],
    own: &'static [&'static str],
) -> Attribution {
    Attribution { openings, verbs, own }
}

pub(super) const ATTRIBUTIONS: &[Attribution] = &[
    // English
    language(&["on "], &["wrote"], &["i wrote", "we wrote", "you wrote"]),
    // German
    language(
        &["am ", "vom "],
        &["schrieb", "geschrieben"],
        &["ich schrieb", "schrieb ich", "habe ich", "haben sie", "haben wir"],
    ),
    // French
    language(&["le "], &["a écrit", "a ecrit"], &[]),
    // Spanish
    language(&["el "], &["escribió", "escribio"], &[]),
    // Italian
    language(&["il ", "in data "], &["ha scritto"], &[]),
    // Portuguese
    language(&["em ", "no dia "], &["escreveu"], &["você escreveu"]),
    // Dutch
    language(&["op "], &["schreef", "geschreven"], &["schreef ik", "ik schreef", "heb ik"]),
    // Swedish, Danish, Norwegian
    language(&["den ", "på "], &["skrev"], &["skrev jag", "jag skrev", "skrev jeg", "jeg skrev"]),
    // Finnish
    language(&[], &["kirjoitti"], &[]),
    // Polish
    language(&["w dniu ", "dnia "], &["napisał", "napisała", "pisze"], &[]),
    // Czech, Slovak
    language(
        &["dne ", "dňa "],
        &["napsal", "napsala", "napsal/a", "napísal", "napísala"],
        &["jsem napsal", "jsem napsala"],
    ),
    // Turkish
    language(&[], &["yazdı", "yazmış"], &[]),
    // Russian, Ukrainian
    language(
        &[],
        &["написал", "написала", "пишет", "пише", "написав"],
        &["я написал", "я написала", "вы написали"],
    ),
    // Hungarian, Romanian, Greek
    language(&[], &["írta"], &[]),
    language(&["în ", "pe "], &["a scris"], &[]),
    language(&["στις "], &["έγραψε"], &[]),
    // Hebrew, Arabic, Persian
    language(&["בתאריך "], &["כתב", "כתבה"], &[]),
    language(&["في "], &["كتب", "كتبت"], &[]),
    language(&["در "], &["نوشت"], &[]),
    // Vietnamese, Indonesian
    language(&["vào "], &["đã viết"], &[]),
    language(&["pada "], &["menulis"], &[]),
    // Japanese, Chinese, Korean
    language(&[], &["のメール", "書きました", "からのメッセージ"], &[]),
    language(&[], &["写道", "寫道", "写到"], &[]),
    language(&[], &["작성", "썼습니다"], &[]),
];

/// A marker, and whether it counts only between dashes.
pub(super) const MARKERS: &[(&str, bool)] = &[
    ("original message", true),
    ("original appointment", true),
    ("reply message", true),
    ("forwarded message", true),
    ("forwarded by", true),
    ("begin forwarded message", false),
    ("ursprüngliche nachricht", true),
    ("originalnachricht", true),
    ("original-nachricht", true),
    ("weitergeleitete nachricht", true),
    ("anfang der weitergeleiteten nachricht", false),
    ("anfang der weitergeleiteten e-mail", false),
    ("message d'origine", true),
    ("message d’origine", true),
    ("message original", true),
    ("message transféré", true),
    ("début du message réexpédié", false),
    ("début du message transféré", false),
    ("mensaje original", true),
    ("mensaje reenviado", true),
    ("inicio del mensaje reenviado", false),
    ("messaggio originale", true),
    ("messaggio inoltrato", true),
    ("inizio messaggio inoltrato", false),
    ("mensagem original", true),
    ("mensagem encaminhada", true),
    ("início da mensagem encaminhada", false),
    ("oorspronkelijk bericht", true),
    ("doorgestuurd bericht", true),
    ("begin doorgestuurd bericht", false),
    ("ursprungligt meddelande", true),
    ("originalmeddelande", true),
    ("vidarebefordrat meddelande", true),
    ("vidarebefordrat brev", false),
    ("oprindelig meddelelse", true),
    ("videresendt meddelelse", true),
    ("oprindelig besked", true),
    ("videresendt besked", true),
    ("start på videresendt besked", false),
    ("opprinnelig melding", true),
    ("videresendt melding", true),
    ("alkuperäinen viesti", true),
    ("välitetty viesti", true),
    ("edelleenlähetetty viesti", true),
    ("oryginalna wiadomość", true),
    ("wiadomość oryginalna", true),
    ("wiadomość przekazana dalej", true),
    ("přeposlaná zpráva", true),
    ("původní zpráva", true),
    ("původní e-mail", true),
    ("pôvodná správa", true),
    ("orijinal mesaj", true),
    ("özgün ileti", true),
    ("iletilen mesaj", true),
    ("yönlendirilmiş ileti", true),
    ("исходное сообщение", true),
    ("оригинальное сообщение", true),
    ("пересылаемое сообщение", true),
    ("начало переадресованного сообщения", false),
    ("元のメッセージ", true),
    ("転送されたメッセージ", true),
    ("原始邮件", true),
    ("原始郵件", true),
    ("转发的邮件", true),
    ("轉寄的郵件", true),
    ("原邮件", true),
    ("원본 메시지", true),
    ("전달된 메시지", true),
    ("원본 이메일", true),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    From,
    Date,
    To,
    Cc,
    Subject,
}

#[rustfmt::skip]
pub(super) const LABELS: &[(Label, &[&str])] = &[
    (Label::From, &[
        "from", "von", "de", "da", "van", "från", "fra", "lähettäjä", "od", "kimden", "gönderen",
        "от", "от кого", "差出人", "送信者", "发件人", "發件人", "寄件者", "보낸 사람", "보낸사람", "feladó",
        "від", "від кого", "de la", "από", "מאת", "من",
        "expéditeur", "remitente", "mittente", "remetente", "afzender", "avsändare", "avsender",
    ]),
    (Label::Date, &[
        "sent", "date", "gesendet", "datum", "envoyé", "envoyé le", "enviado", "enviado el", "fecha",
        "inviato", "data", "enviada em", "enviado em", "enviada", "verzonden", "skickat", "sendt",
        "dato", "lähetetty", "päivämäärä", "päiväys", "wysłano", "wysłane", "odesláno", "odoslané",
        "gönderme tarihi", "gönderildi", "tarih", "отправлено", "дата", "送信日時", "日付", "日時",
        "发送时间", "發送時間", "寄件日期", "日期", "时间", "보낸 날짜", "날짜", "보낸날짜", "elküldve",
        "надіслано", "trimis", "изпратено", "изпратено на", "στάλθηκε", "ημερομηνία", "נשלח", "תאריך", "تم الإرسال", "التاريخ",
    ]),
    (Label::To, &[
        "to", "an", "à", "a", "para", "per", "aan", "till", "til", "vastaanottaja", "do", "komu",
        "kime", "alıcı", "кому", "宛先", "收件人", "收件者", "받는 사람", "받는사람", "címzett",
        "до", "către", "προς", "אל", "إلى",
    ]),
    (Label::Cc, &[
        "cc", "kopie", "kopia", "kopi", "copie", "cópia", "bilgi", "копия", "抄送", "副本", "참조", "dw",
        "udw", "másolat",
    ]),
    (Label::Subject, &[
        "subject", "betreff", "objet", "asunto", "oggetto", "assunto", "onderwerp", "ämne", "emne",
        "aihe", "temat", "předmět", "predmet", "konu", "тема", "件名", "主题", "主題", "主旨", "제목",
        "tárgy", "относно", "subiect", "θέμα", "נושא", "الموضوع",
    ]),
];

/// Labels of web forms that send what a visitor typed.
pub(super) const FORM_LABELS: &[&str] = &[
    "message",
    "your message",
    "comment",
    "comments",
    "phone",
    "telephone",
    "name",
    "email",
    "e-mail",
    "company",
    "order",
    "nachricht",
    "ihre nachricht",
    "telefon",
    "firma",
    "mensaje",
    "mensagem",
    "messaggio",
    "bericht",
    "meddelande",
    "сообщение",
    "留言",
    "メッセージ",
];

/// What phones and programs add below every mail.
pub(super) const DEVICE_LINES: &[&str] = &[
    "sent from my ",
    "sent from outlook",
    "sent from yahoo",
    "sent from mail for",
    "sent with proton",
    "sent via ",
    "get outlook for",
    "von meinem ",
    "gesendet von ",
    "gesendet mit ",
    "envoyé de mon",
    "envoyé depuis",
    "enviado desde mi",
    "enviado do meu",
    "inviato da ",
    "verzonden vanaf",
    "verstuurd vanaf",
    "skickat från min",
    "sendt fra min",
    "lähetetty ",
    "wysłane z ",
    "odesláno z ",
    "отправлено с ",
    "iphoneから送信",
    "发自我的",
];

/// Phrases with which customers refer to the history below.
#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &[
    "below", "inline", "unten", "im text", "ci-dessous", "plus bas", "abajo", "sotto", "abaixo",
    "hieronder", "onderstaand", "onderstaande", "nedan", "nedenfor", "herunder", "alempana",
    "poniżej", "níže", "aşağıda", "aşağıdaki", "ниже", "нижче", "本文中", "见下文", "在下面", "아래",
    "למטה", "أدناه",
];

/// The same by colour ("in red"), when the line is about answers.
#[rustfmt::skip]
pub(super) const COLOURS: &[&str] = &[
    "in red", "in blue", "in green", "in rot", "in blau", "in grün", "en rouge", "en bleu", "en rojo",
    "en azul", "in rosso", "in blu", "em vermelho", "a vermelho", "em azul", "in rood", "in het rood",
    "i rött", "i rødt", "med rødt", "punaisella", "na czerwono", "červeně", "kırmızı", "красным",
    "червоним", "赤字", "红字", "红色", "빨간색", "באדום", "بالأحمر",
];

#[rustfmt::skip]
pub(super) const ANSWERS: &[&str] = &[
    "answer", "comment", "repl", "antwort", "kommentar", "anmerkung", "répon", "remarque", "respuesta",
    "respond", "rispost", "respost", "antwoord", "opmerking", "svar", "vasta", "odpowied", "odpověd",
    "cevap", "yanıt", "ответ", "відпов", "回答", "返信", "回复", "答复", "답변", "תשוב", "رد", "إجاب",
];
