//! The words of customers' pages: one table, a row for each thing that is said, a column for each language (`languages` of
//! `rookery-base`). Names in braces are filled in; every language of a row has the same ones.

use rookery_base::phrases;

phrases! { Word
    Title:
        "Documents for {name}" "Unterlagen für {name}" "Documents pour {name}" "Documentos para {name}"
        "Documenti per {name}" "Documenten voor {name}" "Documentos para {name}";
    Asked:
        "Please send us these documents" "Bitte senden Sie uns diese Unterlagen" "Merci de nous envoyer ces documents"
        "Envíenos estos documentos, por favor" "La preghiamo di inviarci questi documenti"
        "Stuur ons alstublieft deze documenten" "Envie-nos estes documentos, por favor";
    Due:
        "Please send them by {date}." "Bitte bis {date}." "Merci de les envoyer d’ici au {date}."
        "Envíelos a más tardar el {date}, por favor." "La preghiamo di inviarli entro {date}."
        "Stuur ze alstublieft uiterlijk {date}." "Envie-os até {date}, por favor.";
    WasDue:
        "They were due on {date}. Please send what is missing soon."
        "Sie waren bis {date} erbeten. Bitte senden Sie bald, was noch fehlt."
        "Ils étaient attendus pour le {date}. Merci d’envoyer bientôt ce qui manque."
        "Debían llegar el {date}. Envíe pronto lo que falta, por favor."
        "Dovevano arrivare entro {date}. La preghiamo di inviare presto ciò che manca."
        "Ze werden verwacht op {date}. Stuur alstublieft snel wat nog ontbreekt."
        "Deviam ter chegado até {date}. Envie em breve o que falta, por favor.";
    Count:
        "{done} of {all}" "{done} von {all}" "{done} sur {all}" "{done} de {all}" "{done} di {all}" "{done} van {all}"
        "{done} de {all}";
    AreIn: "are in" "sind da" "reçus" "recibidos" "ricevuti" "ontvangen" "recebidos";
    Needed:
        "Documents we need" "Unterlagen, die wir brauchen" "Documents dont nous avons besoin" "Documentos que necesitamos"
        "Documenti che ci servono" "Documenten die we nodig hebben" "Documentos de que precisamos";
    NiceToHave:
        "Nice to have" "Wenn vorhanden" "Si vous les avez" "Si los tiene" "Se disponibili" "Als u het heeft" "Se os tiver";
    NiceHint:
        "We can start without these." "Wir können auch ohne diese anfangen." "Nous pouvons commencer sans eux."
        "Podemos empezar sin ellos." "Possiamo iniziare anche senza." "We kunnen ook zonder beginnen."
        "Podemos começar sem eles.";
    AllIn:
        "Thank you. Everything is here." "Vielen Dank. Alles ist da." "Merci. Tout est là." "Gracias. Ya está todo."
        "Grazie. C’è tutto." "Dank u. Alles is binnen." "Obrigado. Está tudo aqui.";
    AllInMore:
        "We’ve received all documents. You can close this page, or add something until {date}."
        "Alle Unterlagen sind angekommen, und wir wissen Bescheid. Sie können die Seite schließen oder bis {date} etwas ergänzen."
        "Tous les documents sont arrivés et nous sommes prévenus. Vous pouvez fermer cette page, ou ajouter un fichier jusqu’au {date}."
        "Han llegado todos los documentos y estamos avisados. Puede cerrar esta página o añadir algo hasta el {date}."
        "Tutti i documenti sono arrivati e siamo stati avvisati. Può chiudere questa pagina o aggiungere qualcosa fino a {date}."
        "Alle documenten zijn binnen en wij zijn op de hoogte. U kunt deze pagina sluiten, of tot {date} iets toevoegen."
        "Todos os documentos chegaram e fomos avisados. Pode fechar esta página ou acrescentar algo até {date}.";
    Received: "Received." "Angekommen." "Reçu." "Recibido." "Ricevuto." "Ontvangen." "Recebido.";
    ReceivedMore:
        "The file is complete and can be opened." "Die Datei ist vollständig und lässt sich öffnen."
        "Le fichier est complet et peut être ouvert." "El archivo está completo y se puede abrir."
        "Il file è completo e si può aprire." "Het bestand is compleet en kan worden geopend."
        "O ficheiro está completo e pode ser aberto.";
    Accepted: "Accepted." "Geprüft." "Accepté." "Aceptado." "Accettato." "Goedgekeurd." "Aceite.";
    AcceptedMore:
        "Somebody looked at it: it is right." "Jemand hat nachgesehen: Es passt." "Quelqu’un l’a regardé : tout va bien."
        "Alguien lo ha revisado: está bien." "Qualcuno l’ha controllato: va bene." "Iemand heeft het bekeken: het klopt."
        "Alguém verificou: está certo.";
    Ticked:
        "We have it already." "Das haben wir schon." "Nous l’avons déjà." "Ya lo tenemos." "Lo abbiamo già."
        "Dat hebben we al." "Já o temos.";
    NotReadable:
        "What you sent could not be read." "Was Sie gesendet haben, war nicht lesbar." "Votre envoi n’était pas lisible."
        "No se pudo leer lo que envió." "Non siamo riusciti a leggere quanto inviato." "Wat u stuurde was niet leesbaar."
        "Não foi possível ler o que enviou.";
    NotComplete:
        "Something is missing in what you sent." "In Ihrer Sendung fehlt etwas." "Il manque quelque chose à votre envoi."
        "Falta algo en lo que envió." "Manca qualcosa in quanto inviato." "Er ontbreekt iets aan wat u stuurde."
        "Falta algo no que enviou.";
    NotRight:
        "What you sent is another document." "Sie haben ein anderes Dokument gesendet." "Vous avez envoyé un autre document."
        "Lo que envió es otro documento." "Quanto inviato è un altro documento." "U stuurde een ander document."
        "O que enviou é outro documento.";
    SendAgain:
        "Please send it again." "Bitte senden Sie es noch einmal." "Merci de l’envoyer à nouveau."
        "Envíelo de nuevo, por favor." "La preghiamo di inviarlo di nuovo." "Stuur het alstublieft opnieuw."
        "Envie-o de novo, por favor.";
    Choose:
        "Choose a file" "Datei wählen" "Choisir un fichier" "Elegir un archivo" "Scegli un file" "Kies een bestand"
        "Escolher um ficheiro";
    ChooseMore:
        "Add another file" "Weitere Datei hinzufügen" "Ajouter un fichier" "Añadir otro archivo" "Aggiungi un altro file"
        "Nog een bestand toevoegen" "Acrescentar outro ficheiro";
    Photo:
        "Take a photo" "Foto aufnehmen" "Prendre une photo" "Hacer una foto" "Scatta una foto" "Maak een foto"
        "Tirar uma foto";
    Drop:
        "or drop it here, up to 25 MB" "oder hier ablegen, bis 25 MB" "ou déposez-le ici, 25 Mo au plus"
        "o suéltelo aquí, hasta 25 MB" "o trascinalo qui, fino a 25 MB" "of sleep het hierheen, tot 25 MB"
        "ou largue-o aqui, até 25 MB";
    Send: "Send it" "Senden" "Envoyer" "Enviar" "Invia" "Versturen" "Enviar";
    Of: "{sent} of {size}" "{sent} von {size}" "{sent} sur {size}" "{sent} de {size}" "{sent} di {size}" "{sent} van {size}" "{sent} de {size}";
    Waiting:
        "Waits for the file before it." "Wartet auf die Datei davor." "Attend le fichier précédent."
        "Espera al archivo anterior." "In attesa del file precedente." "Wacht op het vorige bestand."
        "Espera pelo ficheiro anterior.";
    Checking:
        "It is there and is being checked." "Sie ist da und wird geprüft." "Il est arrivé, nous le vérifions."
        "Ha llegado y se está comprobando." "È arrivato e lo stiamo controllando." "Het is er en wordt gecontroleerd."
        "Chegou e está a ser verificado.";
    Lost:
        "The connection broke. We try again by ourselves." "Die Verbindung ist abgebrochen. Wir versuchen es gleich noch einmal."
        "La connexion a été coupée. Nouvel essai automatique." "Se cortó la conexión. Lo intentamos de nuevo."
        "La connessione si è interrotta. Riproviamo da soli." "De verbinding viel weg. We proberen het vanzelf opnieuw."
        "A ligação caiu. Tentamos de novo sozinhos.";
    GaveUp:
        "It could not be sent." "Das Senden ist nicht gelungen." "L’envoi n’a pas réussi." "No se pudo enviar."
        "Non è stato possibile inviarlo." "Het versturen is niet gelukt." "Não foi possível enviar.";
    TryAgain: "Try again" "Noch einmal" "Réessayer" "Reintentar" "Riprova" "Opnieuw proberen" "Tentar de novo";
    Stop:
        "Stop sending {name}" "Senden abbrechen: {name}" "Arrêter l’envoi de {name}" "Dejar de enviar {name}"
        "Interrompi l’invio di {name}" "Stop met versturen van {name}" "Parar o envio de {name}";
    NotTaken:
        "We could not take “{name}”." "„{name}“ konnten wir nicht annehmen." "Nous n’avons pas pu prendre « {name} »."
        "No pudimos aceptar «{name}»." "Non abbiamo potuto accettare «{name}»." "We konden “{name}” niet aannemen."
        "Não pudemos aceitar «{name}».";
    TooLarge:
        "A file may have 25 MB at most. Send it in parts, or as a smaller picture."
        "Eine Datei darf höchstens 25 MB haben. Senden Sie sie in Teilen oder als kleineres Bild."
        "Un fichier ne peut dépasser 25 Mo. Envoyez-le en plusieurs parties, ou en image plus petite."
        "Un archivo puede tener 25 MB como máximo. Envíelo en partes o como imagen más pequeña."
        "Un file può avere al massimo 25 MB. Lo invii in parti, o come immagine più piccola."
        "Een bestand mag hoogstens 25 MB zijn. Stuur het in delen, of als kleinere foto."
        "Um ficheiro pode ter no máximo 25 MB. Envie-o em partes ou como imagem mais pequena.";
    Empty:
        "It is empty." "Die Datei ist leer." "Il est vide." "Está vacío." "È vuoto." "Het is leeg." "Está vazio.";
    WrongKind:
        "Please send it as PDF, photo (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument or plain text."
        "Bitte senden Sie PDF, ein Foto (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument oder reinen Text."
        "Merci d’envoyer un PDF, une photo (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument ou du texte."
        "Envíe un PDF, una foto (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument o texto, por favor."
        "Invii un PDF, una foto (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument o testo semplice."
        "Stuur een pdf, foto (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument of platte tekst."
        "Envie um PDF, uma foto (JPG, PNG, HEIC, WebP, TIFF), Word, Excel, OpenDocument ou texto, por favor.";
    Archive:
        "It is an archive, and we open only single files. Please send the pages themselves, as PDF or photos."
        "Es ist ein Archiv, und wir öffnen nur einzelne Dateien. Bitte senden Sie die Seiten selbst, als PDF oder Fotos."
        "C’est une archive, et nous n’ouvrons que des fichiers seuls. Merci d’envoyer les pages elles-mêmes, en PDF ou en photos."
        "Es un archivo comprimido y solo abrimos archivos sueltos. Envíe las páginas mismas, como PDF o fotos."
        "È un archivio, e apriamo solo file singoli. Invii le pagine stesse, come PDF o foto."
        "Het is een archief, en we openen alleen losse bestanden. Stuur de pagina’s zelf, als pdf of foto’s."
        "É um arquivo comprimido e só abrimos ficheiros soltos. Envie as próprias páginas, em PDF ou fotos.";
    Macros:
        "It holds a program (macros). Please save it without, or as PDF." "Sie enthält ein Programm (Makros). Bitte ohne speichern, oder als PDF."
        "Il contient un programme (macros). Enregistrez-le sans, ou en PDF." "Contiene un programa (macros). Guárdelo sin él, o como PDF."
        "Contiene un programma (macro). Lo salvi senza, o come PDF." "Er zit een programma in (macro’s). Sla het zonder op, of als pdf."
        "Contém um programa (macros). Guarde-o sem ele, ou em PDF.";
    Encrypted:
        "It needs a password, so nobody here can open it. Please save it without one."
        "Sie braucht ein Passwort, also kann sie hier niemand öffnen. Bitte ohne Passwort speichern."
        "Il faut un mot de passe, donc personne ici ne peut l’ouvrir. Enregistrez-le sans mot de passe."
        "Necesita una contraseña, así que aquí nadie puede abrirlo. Guárdelo sin contraseña."
        "Serve una password, quindi qui nessuno può aprirlo. Lo salvi senza password."
        "Er is een wachtwoord nodig, dus niemand hier kan het openen. Sla het zonder wachtwoord op."
        "Precisa de uma palavra-passe, por isso ninguém aqui o pode abrir. Guarde-o sem ela.";
    Damaged:
        "It cannot be opened: it seems to be damaged. Please save it again, or send a photo of it."
        "Sie lässt sich nicht öffnen, sie scheint beschädigt zu sein. Bitte neu speichern oder ein Foto davon senden."
        "Il ne peut pas être ouvert : il semble endommagé. Enregistrez-le à nouveau, ou envoyez-en une photo."
        "No se puede abrir: parece dañado. Guárdelo de nuevo o envíe una foto."
        "Non si può aprire: sembra danneggiato. Lo salvi di nuovo, o ne invii una foto."
        "Het kan niet worden geopend: het lijkt beschadigd. Sla het opnieuw op, of stuur er een foto van."
        "Não se pode abrir: parece danificado. Guarde-o de novo ou envie uma fotografia.";
    Pixels:
        "The picture is too large to be opened: at most 100 megapixels." "Das Bild ist zu groß zum Öffnen: höchstens 100 Megapixel."
        "L’image est trop grande pour être ouverte : 100 mégapixels au plus." "La imagen es demasiado grande: 100 megapíxeles como máximo."
        "L’immagine è troppo grande: al massimo 100 megapixel." "De afbeelding is te groot: hoogstens 100 megapixel."
        "A imagem é demasiado grande: no máximo 100 megapíxeis.";
    Virus:
        "Our virus scanner found something in it. Please send another copy." "Unser Virenscanner hat darin etwas gefunden. Bitte senden Sie eine andere Kopie."
        "Notre antivirus y a trouvé quelque chose. Merci d’envoyer une autre copie." "Nuestro antivirus encontró algo. Envíe otra copia, por favor."
        "Il nostro antivirus ha trovato qualcosa. Invii un’altra copia." "Onze virusscanner vond er iets in. Stuur een andere kopie."
        "O nosso antivírus encontrou algo. Envie outra cópia, por favor.";
    SentBefore:
        "You sent this very file before. Please send a better one." "Genau diese Datei haben Sie schon gesendet. Bitte senden Sie eine bessere."
        "Vous avez déjà envoyé ce même fichier. Merci d’en envoyer un meilleur." "Ya envió este mismo archivo. Envíe uno mejor, por favor."
        "Ha già inviato proprio questo file. Ne invii uno migliore." "U stuurde precies dit bestand al. Stuur een beter exemplaar."
        "Já enviou este mesmo ficheiro. Envie um melhor, por favor.";
    TooMany:
        "There are enough files here. Answer the mail if something is still missing." "Hier sind genug Dateien. Antworten Sie auf die Mail, wenn noch etwas fehlt."
        "Il y a assez de fichiers ici. Répondez au courriel s’il manque quelque chose." "Ya hay suficientes archivos. Responda al correo si falta algo."
        "Ci sono abbastanza file qui. Risponda all’e-mail se manca qualcosa." "Er zijn hier genoeg bestanden. Beantwoord de mail als er nog iets ontbreekt."
        "Já há ficheiros suficientes. Responda ao e-mail se faltar algo.";
    NoFile:
        "Choose a file first, then send it." "Wählen Sie erst eine Datei, dann senden Sie sie." "Choisissez d’abord un fichier, puis envoyez-le."
        "Elija primero un archivo y luego envíelo." "Scelga prima un file, poi lo invii." "Kies eerst een bestand en verstuur het dan."
        "Escolha primeiro um ficheiro e depois envie-o.";
    CutOff:
        "Only a part of it came. Please send it again." "Es kam nur ein Teil an. Bitte senden Sie sie noch einmal."
        "Une partie seulement est arrivée. Merci de l’envoyer à nouveau." "Solo llegó una parte. Envíelo de nuevo, por favor."
        "Ne è arrivata solo una parte. Lo invii di nuovo." "Er kwam maar een deel aan. Stuur het opnieuw."
        "Só chegou uma parte. Envie-o de novo, por favor.";
    NotNow:
        "It could not be checked just now. Please try again in a few minutes." "Sie konnte gerade nicht geprüft werden. Bitte versuchen Sie es in ein paar Minuten noch einmal."
        "Il n’a pas pu être vérifié. Réessayez dans quelques minutes." "No se pudo comprobar ahora. Inténtelo de nuevo en unos minutos."
        "Al momento non è stato possibile controllarlo. Riprovi tra qualche minuto." "Het kon nu niet worden gecontroleerd. Probeer het over een paar minuten opnieuw."
        "Não foi possível verificá-lo agora. Tente de novo dentro de alguns minutos.";
    YoursAlone:
        "This page is yours alone." "Diese Seite ist nur für Sie." "Cette page n’est que pour vous." "Esta página es solo para usted."
        "Questa pagina è solo per Lei." "Deze pagina is alleen voor u." "Esta página é só para si.";
    YoursMore:
        "It needs no account and sets no cookie. Files go to {name}’s own server, and only its team can open them. The link ends on {date}."
        "Sie brauchen kein Konto, und es gibt keine Cookies. Die Dateien gehen direkt auf den Server von {name}, und nur das Team dort kann sie öffnen. Der Link gilt bis {date}."
        "Elle ne demande aucun compte et ne pose aucun cookie. Les fichiers vont sur le serveur de {name}, et seule son équipe peut les ouvrir. Le lien est valable jusqu’au {date}."
        "No necesita cuenta y no usa cookies. Los archivos van al servidor de {name} y solo su equipo puede abrirlos. El enlace termina el {date}."
        "Non richiede un account e non usa cookie. I file vanno sul server di {name} e solo il suo team può aprirli. Il link vale fino a {date}."
        "U heeft geen account nodig en er zijn geen cookies. De bestanden gaan naar de server van {name}, en alleen het team daar kan ze openen. De link werkt tot {date}."
        "Não precisa de conta e não usa cookies. Os ficheiros vão para o servidor de {name} e só a sua equipa os pode abrir. A ligação termina em {date}.";
    WhyTitle:
        "Why am I seeing this?" "Warum sehe ich das?" "Pourquoi vois-je ceci ?" "¿Por qué veo esto?" "Perché vedo questo?"
        "Waarom zie ik dit?" "Porque vejo isto?";
    WhyText:
        "{name} sent you this link by mail and asks for these documents. Not you? Close the page; nobody is notified that you opened it."
        "{name} hat Ihnen diesen Link per Mail gesendet und bittet um diese Unterlagen. Das sind nicht Sie? Schließen Sie die Seite; niemand erfährt, dass Sie sie geöffnet haben."
        "{name} vous a envoyé ce lien par courriel et demande ces documents. Ce n’est pas vous ? Fermez la page ; personne ne saura que vous l’avez ouverte."
        "{name} le envió este enlace por correo y le pide estos documentos. ¿No es usted? Cierre la página; nadie sabrá que la abrió."
        "{name} Le ha inviato questo link per e-mail e chiede questi documenti. Non è Lei? Chiuda la pagina; nessuno saprà che l’ha aperta."
        "{name} stuurde u deze link per mail en vraagt om deze documenten. Bent u dit niet? Sluit de pagina; niemand hoort dat u ze opende."
        "{name} enviou-lhe esta ligação por e-mail e pede estes documentos. Não é você? Feche a página; ninguém saberá que a abriu.";
    AboutPage:
        "About this page" "Über diese Seite" "À propos de cette page" "Sobre esta página" "Informazioni su questa pagina"
        "Over deze pagina" "Sobre esta página";
    Language: "Language" "Sprache" "Langue" "Idioma" "Lingua" "Taal" "Idioma";
    EndedTitle:
        "This link has ended" "Dieser Link ist abgelaufen" "Ce lien a expiré" "Este enlace ha terminado" "Questo link è scaduto"
        "Deze link is verlopen" "Esta ligação terminou";
    EndedText:
        "Nothing can be sent here any more. If something is still missing, answer the mail that brought you here."
        "Hier kann nichts mehr gesendet werden. Wenn noch etwas fehlt, antworten Sie auf die Mail, die Sie hierher geführt hat."
        "On ne peut plus rien envoyer ici. S’il manque encore quelque chose, répondez au courriel qui vous a amené ici."
        "Ya no se puede enviar nada aquí. Si falta algo, responda al correo que le trajo hasta aquí."
        "Qui non si può più inviare nulla. Se manca ancora qualcosa, risponda all’e-mail che L’ha portata qui."
        "Hier kan niets meer worden verstuurd. Ontbreekt er nog iets, beantwoord dan de mail die u hierheen bracht."
        "Já não se pode enviar nada aqui. Se ainda faltar algo, responda ao e-mail que o trouxe aqui.";
    NothingTitle:
        "There is nothing here" "Hier ist nichts" "Il n’y a rien ici" "Aquí no hay nada" "Qui non c’è nulla" "Hier is niets"
        "Não há nada aqui";
    NothingText:
        "Check that you copied the whole link from our email." "Prüfen Sie, ob die Adresse vollständig ist: Sie steht in der Mail, die Sie bekommen haben."
        "Vérifiez que l’adresse est complète : elle figure dans le courriel reçu." "Compruebe si la dirección está completa: figura en el correo que recibió."
        "Controlli che l’indirizzo sia completo: si trova nell’e-mail ricevuta." "Kijk of het adres volledig is: het staat in de mail die u kreeg."
        "Veja se o endereço está completo: está no e-mail que recebeu.";
    BusyTitle:
        "A moment, please" "Einen Moment, bitte" "Un instant, s’il vous plaît" "Un momento, por favor" "Un momento, per favore"
        "Een ogenblik, alstublieft" "Um momento, por favor";
    BusyText:
        "Too much came at once. Please try again in a moment." "Es kam zu viel auf einmal. Bitte versuchen Sie es gleich noch einmal."
        "Trop d’envois à la fois. Réessayez dans un instant." "Llegó demasiado a la vez. Inténtelo de nuevo en un momento."
        "È arrivato troppo in una volta. Riprovi tra un momento." "Er kwam te veel tegelijk. Probeer het zo opnieuw."
        "Chegou demasiado de uma vez. Tente de novo daqui a pouco.";
    TroubleTitle:
        "Something went wrong" "Etwas ist schiefgegangen" "Un problème est survenu" "Algo salió mal" "Qualcosa è andato storto"
        "Er ging iets mis" "Algo correu mal";
    TroubleText:
        "It is our fault. What you have sent so far is safe. Please try again in a few minutes."
        "Das liegt an uns. Was Sie bisher gesendet haben, ist sicher. Bitte versuchen Sie es in ein paar Minuten noch einmal."
        "C’est notre faute. Ce que vous avez déjà envoyé est en sécurité. Réessayez dans quelques minutes."
        "Es culpa nuestra. Lo que ya envió está a salvo. Inténtelo de nuevo en unos minutos."
        "È colpa nostra. Quanto ha già inviato è al sicuro. Riprovi tra qualche minuto."
        "Het ligt aan ons. Wat u al stuurde is veilig. Probeer het over een paar minuten opnieuw."
        "A culpa é nossa. O que já enviou está seguro. Tente de novo dentro de alguns minutos.";
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use rookery_base::languages::Phrase;

    fn filled(text: &str) -> BTreeSet<&str> {
        text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect()
    }

    pub fn says_everything(words: &[impl Phrase]) {
        for word in words {
            let all = word.in_all();
            assert!(all.iter().all(|text| !text.trim().is_empty()), "{word:?}");
            for text in all {
                assert_eq!(filled(text), filled(all[0]), "{word:?}: {text}");
            }
        }
    }

    #[test]
    fn every_language_says_everything_and_fills_in_the_same() {
        says_everything(Word::ALL);
    }
}
