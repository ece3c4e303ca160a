//! The wording of scams in several languages. A phrase is here only if customers hardly ever
//! write it to a shop or an office: "my password" is a question, "verify your password" is
//! a demand. Specification 6.2.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use unicode_normalization::UnicodeNormalization;

use rookery_reading::mail::parse::{ParsedMail, is_deceptive};
use rookery_reading::text;

/// Characters that are searched. Scams state their demand early.
const MAX_CHARS: usize = 20_000;

/// Subject and text in lower case, one space between words. History is left out, because our
/// own mails quoted below an answer speak of passwords too.
pub(super) fn words(mail: &ParsedMail, text: &str) -> String {
    let subject = mail.subject.as_deref().unwrap_or("");
    let both: String = if subject.is_ascii() && text.is_ascii() {
        // Fast path: ASCII needs no normalization.
        let room = MAX_CHARS.saturating_sub(subject.len());
        format!("{subject}\n{}", &text[..text.len().min(room)]).to_ascii_lowercase()
    } else {
        subject
            .chars()
            .chain(['\n'])
            .chain(text.chars())
            .filter(|c| !is_deceptive(*c))
            .take(MAX_CHARS)
            .nfkc()
            .flat_map(char::to_lowercase)
            .map(|c| if c == '’' { '\'' } else { c })
            .collect()
    };
    text::line(&both)
}

/// Which phrases a mail has, found in one pass.
pub(super) struct Wording {
    found: [u32; LISTS.len()],
}

const LISTS: [&[&str]; 7] =
    [CREDENTIAL_DEMANDS, PRESSURE, PAYMENT_CHANGES, GIFT_CARDS, GIFT_CARD_TRICKS, FORTUNES, LINKS];
const LINKS: &[&str] = &["http://", "https://"];

impl Wording {
    pub fn find_in(words: &str) -> Self {
        static PHRASES: LazyLock<(AhoCorasick, Vec<usize>)> = LazyLock::new(|| {
            let lists = LISTS.iter().enumerate();
            let all: Vec<(usize, &str)> =
                lists.flat_map(|(list, phrases)| phrases.iter().map(move |phrase| (list, *phrase))).collect();
            // A DFA takes three megabytes and is fastest; every mail goes through it.
            let mut quickest = AhoCorasick::builder();
            quickest.kind(Some(AhoCorasickKind::DFA));
            let phrases = quickest.build(all.iter().map(|(_, phrase)| phrase)).expect("the phrases fit");
            (phrases, all.into_iter().map(|(list, _)| list).collect())
        });
        let (phrases, list_of) = &*PHRASES;
        let mut seen = vec![false; list_of.len()];
        let mut found = [0; LISTS.len()];
        // Phrases may overlap; each counts once.
        for hit in phrases.find_overlapping_iter(words) {
            let phrase = hit.pattern().as_usize();
            if !std::mem::replace(&mut seen[phrase], true) {
                found[list_of[phrase]] += 1;
            }
        }
        Self { found }
    }

    pub fn wants_credentials(&self) -> bool {
        self.found[0] > 0
    }

    pub fn presses(&self) -> bool {
        self.found[1] > 0
    }

    pub fn changes_payment(&self) -> bool {
        self.found[2] > 0
    }

    /// Shops sell gift cards, so it takes both the card and a trick.
    pub fn wants_gift_cards(&self) -> bool {
        self.found[3] > 0 && self.found[4] > 0
    }

    pub fn shows_link(&self) -> bool {
        self.found[6] > 0
    }

    /// Two of these together; one alone may be an honest question.
    pub fn promises_fortune(&self) -> bool {
        self.found[5] > 1
    }
}

#[rustfmt::skip]
const CREDENTIAL_DEMANDS: &[&str] = &[
    "verify your account", "verify your password", "verify your mailbox", "verify your email account",
    "verify your identity", "verify your login", "verify your credentials", "confirm your password",
    "confirm your account", "confirm your identity", "confirm your login", "confirm your mailbox",
    "confirm your credentials", "validate your account", "validate your mailbox", "validate your email",
    "re-validate your", "revalidate your", "reactivate your account", "reactivate your mailbox",
    "update your password", "update your mailbox", "update your account information",
    "update your login", "update your payment information", "keep your current password",
    "keep the same password", "keep same password", "enter your password", "enter your credentials",
    "upgrade your mailbox", "restore your account", "unlock your account", "release your pending messages",
    // German
    "bestätigen sie ihr konto", "bestätigen sie ihr passwort", "bestätigen sie ihre identität",
    "verifizieren sie ihr", "bestätigen sie ihre zugangsdaten", "aktualisieren sie ihre zahlungsdaten",
    "geben sie ihr passwort", "passwort bestätigen", "ihre kontodaten bestätigen",
    // French
    "vérifiez votre compte", "vérifier votre compte", "confirmez votre mot de passe",
    "confirmer votre mot de passe", "confirmez votre compte", "confirmez votre identité",
    "validez votre compte", "saisissez votre mot de passe",
    // Spanish
    "verifique su cuenta", "verifica tu cuenta", "verificar su cuenta", "confirme su contraseña",
    "confirma tu contraseña", "confirme su identidad", "valide su cuenta", "actualice su contraseña",
    // Italian
    "verifica il tuo account", "verifichi il suo account", "verificare il tuo account",
    "conferma la tua password", "confermare la password", "conferma la tua identità",
    // Portuguese
    "verifique sua conta", "verifique a sua conta", "confirme sua senha", "confirme a sua senha",
    "confirme sua conta", "atualize sua senha",
    // Dutch
    "verifieer uw account", "bevestig uw wachtwoord", "bevestig uw account", "controleer uw account",
    // Swedish, Danish, Norwegian, Finnish
    "verifiera ditt konto", "bekräfta ditt lösenord", "bekræft din adgangskode", "bekræft din konto",
    "bekreft passordet ditt", "bekreft kontoen din", "vahvista tilisi", "vahvista salasanasi",
    // Polish, Czech, Turkish
    "zweryfikuj swoje konto", "potwierdź swoje hasło", "potwierdź hasło", "ověřte svůj účet",
    "potvrďte své heslo", "hesabınızı doğrulayın", "şifrenizi doğrulayın",
    // Russian
    "подтвердите ваш аккаунт", "подтвердите свой аккаунт", "подтвердите пароль", "подтвердите свой пароль",
    "подтвердите учетную запись", "подтвердите вашу учетную запись",
    // Japanese, Chinese, Korean
    "アカウントを確認してください", "パスワードを確認してください", "アカウントの確認が必要",
    "验证您的账户", "验证您的帐户", "确认您的密码", "驗證您的帳戶", "계정을 확인", "비밀번호를 확인해",
];

#[rustfmt::skip]
const PRESSURE: &[&str] = &[
    "urgent", "immediately", "within 24 hours", "within 48 hours", "final notice", "last warning",
    "act now", "password expires", "password will expire", "password has expired", "will be suspended",
    "has been suspended", "will be deactivated", "will be terminated", "will be closed", "account is limited",
    "has been limited", "mailbox is full", "mailbox is almost full", "unusual sign-in", "before close of business",
    "asap", "strictly confidential",
    "dringend", "sofort", "innerhalb von 24 stunden", "innerhalb von 48 stunden", "gesperrt", "läuft ab",
    "immédiatement", "sous 24 heures", "sera suspendu", "a été suspendu", "expire dans", "expirera",
    "urgente", "inmediatamente", "en 24 horas", "será suspendida", "suspendida",
    "immediatamente", "entro 24 ore", "sarà sospeso", "imediatamente", "em 24 horas", "será suspensa",
    "onmiddellijk", "binnen 24 uur", "geblokkeerd", "omedelbart", "inom 24 timmar", "omgående",
    "straks", "inden for 24 timer", "umiddelbart", "välittömästi", "natychmiast", "w ciągu 24 godzin",
    "okamžitě", "do 24 hodin", "acil", "24 saat içinde", "срочно", "немедленно", "в течение 24 часов",
    "至急", "24時間以内", "紧急", "立即", "24小时内", "긴급", "24시간 이내",
];

#[rustfmt::skip]
const PAYMENT_CHANGES: &[&str] = &[
    "new bank details", "new banking details", "new bank account details", "our new bank account",
    "updated bank details", "updated banking details", "changed bank details", "change of bank details",
    "change in bank details", "change in our bank", "change of bank account", "bank details have changed",
    "banking details have changed", "bank account has changed", "bank account details have changed",
    "changed our bank", "changed my bank", "update my direct deposit", "change my direct deposit",
    "update our bank details", "pay to the new account", "payment to the new account",
    "remit payment to the following account", "our account is under audit", "account is currently under audit",
    "neue bankverbindung", "geänderte bankverbindung", "neuen bankverbindung", "bankverbindung hat sich geändert",
    "bankverbindung geändert", "änderung der bankverbindung", "änderung unserer bankverbindung",
    "nouvelles coordonnées bancaires", "changement de coordonnées bancaires", "nouveau rib",
    "changement de rib", "coordonnées bancaires ont changé",
    "nuevos datos bancarios", "nueva cuenta bancaria", "cambio de cuenta bancaria", "cambio de datos bancarios",
    "datos bancarios han cambiado",
    "nuove coordinate bancarie", "nuovo iban", "cambio di iban", "coordinate bancarie sono cambiate",
    "novos dados bancários", "nova conta bancária", "alteração de dados bancários", "mudança de conta bancária",
    "nieuwe bankgegevens", "nieuw rekeningnummer", "gewijzigde bankgegevens", "gewijzigd rekeningnummer",
    "nya bankuppgifter", "nytt bankkonto", "nye bankoplysninger", "ny bankkonto", "nye bankopplysninger",
    "uudet pankkitiedot", "nowe dane bankowe", "nowy numer konta", "zmiana numeru konta", "zmiana konta bankowego",
    "nové bankovní údaje", "nový bankovní účet", "změna bankovního účtu", "yeni banka hesab",
    "новые банковские реквизиты", "новые реквизиты", "изменились реквизиты", "смена реквизитов",
    "新しい銀行口座", "振込先の変更", "振込先が変更", "新的银行账户", "银行账户变更", "收款账户变更", "계좌 변경", "새 계좌",
];

#[rustfmt::skip]
const GIFT_CARDS: &[&str] = &[
    "gift card", "giftcard", "itunes card", "steam card", "google play card", "apple card", "razer gold",
    "gutscheinkarte", "geschenkkarte", "carte cadeau", "cartes cadeau", "tarjeta de regalo", "tarjetas de regalo",
    "carta regalo", "carte regalo", "buono regalo", "cartão presente", "cartões presente", "vale-presente",
    "cadeaubon", "cadeaukaart", "presentkort", "gavekort", "lahjakort", "karta podarunkowa", "karty podarunkowe",
    "dárkov", "hediye kart", "подарочн", "ギフトカード", "ギフト券", "礼品卡", "기프트 카드", "기프트카드",
];

#[rustfmt::skip]
const GIFT_CARD_TRICKS: &[&str] = &[
    "scratch", "photo of the code", "picture of the code", "pictures of the cards", "photos of the cards",
    "send me the code", "send the codes", "email me the code", "i will reimburse", "i'll reimburse",
    "reimburse you", "are you available", "i need you to", "can you get this done", "do me a favor",
    "do me a favour", "in a meeting", "keep this confidential", "keep it a surprise",
    "freirubbeln", "rubbeln", "schicken sie mir die codes", "schick mir die codes", "erstatte ich",
    "grattez", "gratter", "envoyez-moi les codes", "je vous rembourserai", "raspe", "rasca",
    "envíame los códigos", "envíeme los códigos", "te reembolsaré", "gratta", "mandami i codici",
    "envie os códigos", "me envie os códigos", "krassen", "stuur me de codes", "skrapa", "skicka koderna",
    "skrab", "send mig koderne", "zdrap", "wyślij mi kody", "pošli mi kódy", "kodları gönder",
    "сотрите", "пришлите коды", "コードを送", "刮开", "发送代码", "코드를 보내",
];

#[rustfmt::skip]
const FORTUNES: &[&str] = &[
    "next of kin", "inheritance fund", "unclaimed inheritance", "million dollars", "million usd",
    "million euros", "lottery winner", "you have won", "business proposal", "late client", "barrister",
    "atm card", "compensation fund", "donate to you", "recorded you", "your webcam", "i hacked",
    "your device was infected", "bitcoin wallet", "btc wallet", "send bitcoin", "adult site",
    "adult website", "erbschaft in höhe", "millionen euro", "sie haben gewonnen", "millions d'euros",
    "vous avez gagné", "millones de dólares", "ha sido ganador", "hai vinto", "milioni di euro",
    "milhões de dólares", "вы выиграли", "миллионов долларов",
];
