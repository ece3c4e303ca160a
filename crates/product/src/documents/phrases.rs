//! What the service itself writes in email that asks for documents (specification 4.9), in each of the customers' languages.
//! What is filled in are days and what a document is called.

use rookery_base::phrases;

phrases! { AskPhrase
    Polite:
        "Hello,\n\nPlease send us the documents listed below. Thank you!"
        "Guten Tag,\n\nbitte senden Sie uns die unten genannten Unterlagen. Vielen Dank!"
        "Bonjour,\n\nMerci de nous envoyer les documents indiqués ci-dessous."
        "Hola:\n\nEnvíenos, por favor, los documentos que se indican a continuación. ¡Gracias!"
        "Buongiorno,\n\nLa preghiamo di inviarci i documenti elencati qui sotto. Grazie!"
        "Hallo,\n\nstuur ons alstublieft de documenten hieronder. Dank u wel!"
        "Olá,\n\nEnvie-nos, por favor, os documentos indicados abaixo. Obrigado!";
    Asked:
        "Please send us these documents:" "Bitte senden Sie uns diese Unterlagen:" "Merci de nous envoyer ces documents :"
        "Envíenos estos documentos, por favor:" "La preghiamo di inviarci questi documenti:"
        "Stuur ons alstublieft deze documenten:" "Envie-nos estes documentos, por favor:";
    NiceToHave:
        "nice to have" "wenn vorhanden" "si vous l’avez" "si lo tiene" "se disponibile" "als u het heeft" "se tiver";
    Due:
        "Please send them by {date}." "Bitte senden Sie sie bis {date}." "Merci de les envoyer d’ici au {date}."
        "Envíelos a más tardar el {date}, por favor." "La preghiamo di inviarli entro {date}."
        "Stuur ze alstublieft uiterlijk {date}." "Envie-os até {date}, por favor.";
    Upload:
        "Upload them here, no account needed:" "Hier können Sie sie hochladen, ohne Konto:"
        "Envoyez-les ici, sans créer de compte :" "Súbalos aquí, sin necesidad de cuenta:"
        "Li carichi qui, senza bisogno di un account:" "Upload ze hier, zonder account:"
        "Carregue-os aqui, sem precisar de conta:";
    UploadOne:
        "Upload it here, no account needed:" "Hier können Sie das Dokument hochladen, ohne Konto:"
        "Envoyez-le ici, sans créer de compte :" "Súbalo aquí, sin necesidad de cuenta:"
        "Lo carichi qui, senza bisogno di un account:" "Upload het hier, zonder account:"
        "Carregue-o aqui, sem precisar de conta:";
    Reminder:
        "This is a friendly reminder: some documents we asked you for are still missing."
        "Eine freundliche Erinnerung: Einige Unterlagen, um die wir Sie gebeten haben, fehlen noch."
        "Petit rappel : il nous manque encore des documents que nous vous avons demandés."
        "Un recordatorio amistoso: todavía faltan algunos documentos que le pedimos."
        "Un cortese promemoria: mancano ancora alcuni documenti che Le abbiamo chiesto."
        "Een vriendelijke herinnering: sommige documenten waar we om vroegen, ontbreken nog."
        "Um lembrete: ainda faltam alguns documentos que lhe pedimos.";
    Unreadable:
        "Hello,\n\nThank you for sending “{label}”. Unfortunately, we couldn’t read it. Please send it again."
        "Guten Tag,\n\nvielen Dank für das, was Sie uns zu „{label}“ gesendet haben. Leider konnten wir es nicht lesen. Bitte senden Sie es noch einmal."
        "Bonjour,\n\nMerci pour votre envoi concernant « {label} ». Malheureusement, nous n’avons pas pu le lire. Merci de nous l’envoyer à nouveau."
        "Hola:\n\nGracias por lo que nos envió para «{label}». Lamentablemente no pudimos leerlo. Envíelo de nuevo, por favor."
        "Buongiorno,\n\ngrazie per quanto ci ha inviato per «{label}». Purtroppo non siamo riusciti a leggerlo. La preghiamo di inviarlo di nuovo."
        "Hallo,\n\nbedankt voor wat u ons stuurde voor “{label}”. Helaas konden we het niet lezen. Stuur het alstublieft opnieuw."
        "Olá,\n\nObrigado pelo que nos enviou para “{label}”. Infelizmente, não conseguimos lê-lo. Envie-o de novo, por favor.";
    Incomplete:
        "Hello,\n\nThank you for sending “{label}”. Unfortunately, part of it is missing. Please send it again."
        "Guten Tag,\n\nvielen Dank für das, was Sie uns zu „{label}“ gesendet haben. Leider fehlt etwas darin. Bitte senden Sie es noch einmal."
        "Bonjour,\n\nMerci pour votre envoi concernant « {label} ». Malheureusement, il est incomplet. Merci de nous l’envoyer à nouveau."
        "Hola:\n\nGracias por lo que nos envió para «{label}». Lamentablemente está incompleto. Envíelo de nuevo, por favor."
        "Buongiorno,\n\ngrazie per quanto ci ha inviato per «{label}». Purtroppo è incompleto. La preghiamo di inviarlo di nuovo."
        "Hallo,\n\nbedankt voor wat u ons stuurde voor “{label}”. Helaas ontbreekt er iets in. Stuur het alstublieft opnieuw."
        "Olá,\n\nObrigado pelo que nos enviou para “{label}”. Infelizmente, está incompleto. Envie-o de novo, por favor.";
    Wrong:
        "Hello,\n\nThank you for what you sent for “{label}”. Unfortunately, it isn’t the document we asked for. Please send the right one."
        "Guten Tag,\n\nvielen Dank für das, was Sie uns zu „{label}“ gesendet haben. Leider ist es ein anderes Dokument. Bitte senden Sie es noch einmal."
        "Bonjour,\n\nMerci pour votre envoi concernant « {label} ». Malheureusement, il s’agit d’un autre document. Merci de nous envoyer le bon."
        "Hola:\n\nGracias por lo que nos envió para «{label}». Lamentablemente es otro documento. Envíelo de nuevo, por favor."
        "Buongiorno,\n\ngrazie per quanto ci ha inviato per «{label}». Purtroppo si tratta di un altro documento. La preghiamo di inviare quello corretto."
        "Hallo,\n\nbedankt voor wat u ons stuurde voor “{label}”. Helaas is het een ander document. Stuur het alstublieft opnieuw."
        "Olá,\n\nObrigado pelo que nos enviou para “{label}”. Infelizmente, trata-se de outro documento. Envie-nos o correto, por favor.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use rookery_base::languages::Phrase;

    #[test]
    fn every_language_says_everything_and_fills_in_the_same() {
        for phrase in AskPhrase::ALL {
            let all = phrase.in_all();
            for name in ["{date}", "{label}"] {
                assert!(all.iter().all(|text| text.contains(name) == all[0].contains(name)), "{phrase:?}");
            }
            assert!(all.iter().all(|text| !text.is_empty()), "{phrase:?}");
        }
    }
}
