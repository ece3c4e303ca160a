//! The words of secure pages and of the mail with their code, in the columns of the table of customers' words. Nothing here
//! is filled in but what the team is called, the masked address, times and the code.

use rookery_base::phrases;

phrases! { SecureWord
    Title:
        "A private message from {name}" "Eine vertrauliche Nachricht von {name}" "Un message confidentiel de {name}"
        "Un mensaje privado de {name}" "Un messaggio riservato da {name}" "Een vertrouwelijk bericht van {name}"
        "Uma mensagem privada de {name}";
    ForYou:
        "A private message for you" "Eine vertrauliche Nachricht für Sie" "Un message confidentiel pour vous"
        "Un mensaje privado para usted" "Un messaggio riservato per Lei" "Een vertrouwelijk bericht voor u"
        "Uma mensagem privada para si";
    From: "From" "Von" "De" "De" "Da" "Van" "De";
    To: "To" "An" "À" "Para" "A" "Aan" "Para";
    SentOn: "Sent" "Gesendet" "Envoyé" "Enviado" "Inviato" "Verstuurd" "Enviado";
    Until:
        "Can be read until" "Lesbar bis" "Lisible jusqu’au" "Se puede leer hasta" "Leggibile fino a" "Te lezen tot"
        "Pode ser lida até";
    SendCode:
        "Send me a code" "Code zusenden" "M’envoyer un code" "Enviarme un código" "Inviami un codice"
        "Stuur mij een code" "Enviar-me um código";
    CodeHint:
        "We mail six digits to {address}. Opening this page alone tells nobody anything."
        "Wir senden sechs Ziffern an {address}. Diese Seite nur zu öffnen, verrät niemandem etwas."
        "Nous envoyons six chiffres à {address}. Ouvrir cette page ne révèle rien à personne."
        "Enviamos seis cifras a {address}. Abrir esta página no revela nada a nadie."
        "Inviamo sei cifre a {address}. Aprire questa pagina non rivela nulla a nessuno."
        "Wij sturen zes cijfers naar {address}. Alleen deze pagina openen verraadt niemand iets."
        "Enviamos seis algarismos para {address}. Abrir esta página não revela nada a ninguém.";
    TypeCode:
        "Type the code we mailed you" "Geben Sie den zugesandten Code ein" "Saisissez le code reçu par courriel"
        "Escriba el código que le enviamos" "Inserisca il codice ricevuto per e-mail" "Typ de code die wij mailden"
        "Escreva o código que lhe enviámos";
    CodeWent:
        "It goes to {address} and works for 15 minutes. Look into spam too."
        "Er geht an {address} und gilt 15 Minuten. Sehen Sie auch im Spam nach."
        "Il est envoyé à {address} et reste valable 15 minutes. Regardez aussi dans les indésirables."
        "Se envía a {address} y vale 15 minutos. Mire también en el correo no deseado."
        "Viene inviato a {address} e vale 15 minuti. Guardi anche nello spam."
        "Hij gaat naar {address} en geldt 15 minuten. Kijk ook in de spam."
        "Segue para {address} e vale 15 minutos. Veja também no spam.";
    SixDigits: "Six digits" "Sechs Ziffern" "Six chiffres" "Seis cifras" "Sei cifre" "Zes cijfers" "Seis algarismos";
    Open:
        "Open the message" "Nachricht öffnen" "Ouvrir le message" "Abrir el mensaje" "Apri il messaggio"
        "Bericht openen" "Abrir a mensagem";
    Another:
        "Send another code" "Noch einen Code senden" "Envoyer un autre code" "Enviar otro código" "Invia un altro codice"
        "Nog een code sturen" "Enviar outro código";
    Passphrase:
        "The passphrase that was agreed with you" "Die mit Ihnen vereinbarte Passphrase"
        "La phrase secrète convenue avec vous" "La frase secreta acordada con usted" "La frase segreta concordata con Lei"
        "De afgesproken wachtzin" "A frase secreta combinada consigo";
    PassphraseHint:
        "It isn’t in any email: you agreed on it by phone or in person." "Sie steht in keiner Mail: Sie wurde am Telefon oder persönlich vereinbart."
        "Elle ne figure dans aucun courriel : elle a été convenue par téléphone ou en personne." "No figura en ningún correo: se acordó por teléfono o en persona."
        "Non è in nessuna e-mail: è stata concordata al telefono o di persona." "Hij staat in geen mail: hij is telefonisch of persoonlijk afgesproken."
        "Não está em nenhum e-mail: foi combinada por telefone ou pessoalmente.";
    WrongCode:
        "That code was not right. Tries left: {left}." "Der Code stimmt nicht. Versuche übrig: {left}."
        "Ce code n’est pas le bon. Essais restants : {left}." "El código no es correcto. Intentos restantes: {left}."
        "Il codice non è giusto. Tentativi rimasti: {left}." "Die code klopt niet. Pogingen over: {left}."
        "O código não está certo. Tentativas restantes: {left}.";
    WrongPassphrase:
        "That passphrase was not right. Tries left: {left}." "Die Passphrase stimmt nicht. Versuche übrig: {left}."
        "Cette phrase n’est pas la bonne. Essais restants : {left}." "La frase no es correcta. Intentos restantes: {left}."
        "La frase non è giusta. Tentativi rimasti: {left}." "Die wachtzin klopt niet. Pogingen over: {left}."
        "A frase não está certa. Tentativas restantes: {left}.";
    NoCode:
        "That code is too old or was used. Have another one sent." "Der Code ist zu alt oder verbraucht. Lassen Sie sich einen neuen senden."
        "Ce code est trop ancien ou déjà utilisé. Demandez-en un autre." "El código es demasiado antiguo o ya se usó. Pida otro."
        "Il codice è troppo vecchio o già usato. Ne chieda un altro." "Die code is te oud of al gebruikt. Vraag een nieuwe."
        "O código é demasiado antigo ou já foi usado. Peça outro.";
    NotSix:
        "Type the six digits of the mail." "Geben Sie die sechs Ziffern aus der Mail ein." "Saisissez les six chiffres du courriel."
        "Escriba las seis cifras del correo." "Inserisca le sei cifre dell’e-mail." "Typ de zes cijfers uit de mail."
        "Escreva os seis algarismos do e-mail.";
    LockedTitle:
        "Too many wrong tries" "Zu viele Fehlversuche" "Trop d’essais erronés" "Demasiados intentos fallidos"
        "Troppi tentativi sbagliati" "Te veel foute pogingen" "Demasiadas tentativas erradas";
    LockedText:
        "This page is locked for 15 minutes. Then you can try again." "Diese Seite ist 15 Minuten gesperrt. Danach geht es weiter."
        "Cette page est bloquée pendant 15 minutes. Vous pourrez ensuite réessayer." "Esta página está bloqueada 15 minutos. Después puede intentarlo de nuevo."
        "Questa pagina è bloccata per 15 minuti. Poi può riprovare." "Deze pagina is 15 minuten geblokkeerd. Daarna kunt u het opnieuw proberen."
        "Esta página está bloqueada durante 15 minutos. Depois pode tentar de novo.";
    EnoughCodes:
        "Enough codes were sent for now. Use the newest one, or try again in an hour." "Es wurden genug Codes gesendet. Nehmen Sie den neuesten, oder versuchen Sie es in einer Stunde wieder."
        "Assez de codes ont été envoyés. Utilisez le dernier, ou réessayez dans une heure." "Ya se enviaron bastantes códigos. Use el último o inténtelo dentro de una hora."
        "Sono stati inviati abbastanza codici. Usi l’ultimo o riprovi tra un’ora." "Er zijn genoeg codes verstuurd. Gebruik de nieuwste, of probeer het over een uur."
        "Já foram enviados códigos suficientes. Use o mais recente ou tente dentro de uma hora.";
    EndedTitle:
        "This link has ended" "Dieser Link ist abgelaufen" "Ce lien n’est plus valable" "Este enlace ha caducado"
        "Questo link è scaduto" "Deze link is verlopen" "Esta ligação terminou";
    EndedText:
        "Private messages can be read for 30 days, or until they are taken back. If you still need it, reply to the mail you got."
        "Vertrauliche Nachrichten sind 30 Tage lesbar oder bis sie zurückgezogen werden. Wenn Sie sie noch brauchen, antworten Sie auf die Mail."
        "Les messages confidentiels se lisent pendant 30 jours, ou jusqu’à leur retrait. S’il vous le faut encore, répondez au courriel reçu."
        "Los mensajes privados se leen durante 30 días o hasta que se retiran. Si aún lo necesita, responda al correo que recibió."
        "I messaggi riservati si leggono per 30 giorni o finché non vengono ritirati. Se Le serve ancora, risponda all’e-mail ricevuta."
        "Vertrouwelijke berichten zijn 30 dagen te lezen, of tot ze worden ingetrokken. Heeft u het nog nodig, beantwoord dan de mail."
        "As mensagens privadas leem-se durante 30 dias ou até serem retiradas. Se ainda precisar, responda ao e-mail que recebeu.";
    Messages: "Messages" "Nachrichten" "Messages" "Mensajes" "Messaggi" "Berichten" "Mensagens";
    OpenUntil:
        "Open on this device until {time}. The link ends on {date}." "Auf diesem Gerät offen bis {time}. Der Link endet am {date}."
        "Ouvert sur cet appareil jusqu’à {time}. Le lien prend fin le {date}." "Abierto en este dispositivo hasta las {time}. El enlace termina el {date}."
        "Aperto su questo dispositivo fino alle {time}. Il link scade il {date}." "Open op dit apparaat tot {time}. De link eindigt op {date}."
        "Aberto neste dispositivo até às {time}. A ligação termina em {date}.";
    Lock: "Lock" "Sperren" "Verrouiller" "Bloquear" "Blocca" "Vergrendelen" "Bloquear";
    You: "You" "Sie" "Vous" "Usted" "Lei" "U" "Você";
    YourReply: "Your reply" "Ihre Antwort" "Votre réponse" "Su respuesta" "La Sua risposta" "Uw antwoord" "A sua resposta";
    AddFiles: "Add files" "Dateien hinzufügen" "Ajouter des fichiers" "Añadir archivos" "Aggiungi file" "Bestanden toevoegen" "Adicionar ficheiros";
    SendIt: "Send securely" "Sicher senden" "Envoyer en sécurité" "Enviar de forma segura" "Invia in sicurezza" "Veilig versturen" "Enviar com segurança";
    Sent:
        "Your reply has arrived." "Ihre Antwort ist angekommen." "Votre réponse est arrivée." "Su respuesta ha llegado."
        "La Sua risposta è arrivata." "Uw antwoord is aangekomen." "A sua resposta chegou.";
    KeptLate:
        "Your reply is not sent yet: the page had been open for eight hours. Open it again, then send it. Files have to be added again."
        "Ihre Antwort ist noch nicht gesendet: Die Seite war schon acht Stunden offen. Öffnen Sie sie wieder, und senden Sie dann. Dateien müssen Sie neu hinzufügen."
        "Votre réponse n’est pas encore envoyée : la page était ouverte depuis huit heures. Rouvrez-la, puis envoyez. Les fichiers sont à ajouter de nouveau."
        "Su respuesta aún no se ha enviado: la página llevaba ocho horas abierta. Ábrala de nuevo y envíela. Hay que volver a añadir los archivos."
        "La Sua risposta non è ancora inviata: la pagina era aperta da otto ore. La riapra e poi invii. I file vanno aggiunti di nuovo."
        "Uw antwoord is nog niet verstuurd: de pagina was al acht uur open. Open haar opnieuw en verstuur dan. Bestanden moet u opnieuw toevoegen."
        "A sua resposta ainda não foi enviada: a página estava aberta há oito horas. Abra-a de novo e envie. Os ficheiros têm de ser adicionados outra vez.";
    KeptReply:
        "Your reply is not sent yet. Look at it below and send it." "Ihre Antwort ist noch nicht gesendet. Sie steht unten: Bitte senden Sie sie."
        "Votre réponse n’est pas encore envoyée. Elle est ci-dessous : envoyez-la." "Su respuesta aún no se ha enviado. Está abajo: envíela."
        "La Sua risposta non è ancora inviata. È qui sotto: la invii." "Uw antwoord is nog niet verstuurd. Het staat hieronder: verstuur het."
        "A sua resposta ainda não foi enviada. Está em baixo: envie-a.";
    EmptyReply:
        "Write something or add a file." "Schreiben Sie etwas, oder fügen Sie eine Datei hinzu." "Écrivez quelque chose ou ajoutez un fichier."
        "Escriba algo o añada un archivo." "Scriva qualcosa o aggiunga un file." "Schrijf iets of voeg een bestand toe."
        "Escreva algo ou adicione um ficheiro.";
    LongReply:
        "That is too long. Shorten it, or send it as a file." "Das ist zu lang. Kürzen Sie es, oder senden Sie es als Datei."
        "C’est trop long. Raccourcissez, ou envoyez un fichier." "Es demasiado largo. Acórtelo o envíelo como archivo."
        "È troppo lungo. Lo accorci o lo invii come file." "Dat is te lang. Kort het in, of stuur het als bestand."
        "É demasiado longo. Encurte ou envie como ficheiro.";
    NotTaken:
        "It was not sent: a file could not be taken. It may be too large, broken off or refused by the virus scanner."
        "Nicht gesendet: Eine Datei konnte nicht angenommen werden. Sie ist zu groß, brach ab oder wurde vom Virenscanner abgelehnt."
        "Non envoyé : un fichier n’a pas pu être accepté. Il est trop grand, interrompu ou refusé par l’antivirus."
        "No se envió: un archivo no se pudo aceptar. Es demasiado grande, se cortó o lo rechazó el antivirus."
        "Non inviato: un file non è stato accettato. È troppo grande, interrotto o rifiutato dall’antivirus."
        "Niet verstuurd: een bestand kon niet worden aangenomen. Het is te groot, afgebroken of geweigerd door de virusscanner."
        "Não enviado: um ficheiro não pôde ser aceite. É demasiado grande, foi interrompido ou recusado pelo antivírus.";
    WhyTitle:
        "Why am I seeing this?" "Warum sehe ich das?" "Pourquoi est-ce que je vois cela ?" "¿Por qué veo esto?"
        "Perché vedo questo?" "Waarom zie ik dit?" "Porque estou a ver isto?";
    WhyText:
        "Someone at {name} wrote something that doesn’t belong in an ordinary email, so the email contains only this link. The text is stored encrypted. This is not end-to-end encryption: the team of {name} reads what you write here."
        "Jemand bei {name} hat etwas geschrieben, das nicht in einer gewöhnlichen Mail stehen soll. Deshalb enthält die Mail nur diesen Link. Der Text ist versiegelt gespeichert. Das ist keine Ende-zu-Ende-Verschlüsselung: Das Team von {name} liest, was Sie hier schreiben."
        "Quelqu’un chez {name} a écrit ce qui ne doit pas figurer dans un courriel ordinaire ; le courriel ne contient donc que ce lien. Le texte est conservé scellé. Ce n’est pas un chiffrement de bout en bout : l’équipe de {name} lit ce que vous écrivez ici."
        "Alguien de {name} escribió algo que no debe ir en un correo corriente; por eso el correo solo lleva este enlace. El texto se guarda sellado. No es cifrado de extremo a extremo: el equipo de {name} lee lo que usted escriba aquí."
        "Qualcuno di {name} ha scritto qualcosa che non deve stare in una normale e-mail, che quindi contiene solo questo link. Il testo è conservato sigillato. Non è crittografia end-to-end: il team di {name} legge ciò che scrive qui."
        "Iemand bij {name} schreef iets dat niet in een gewone mail hoort; daarom bevat de mail alleen deze link. De tekst wordt verzegeld bewaard. Dit is geen end-to-endversleuteling: het team van {name} leest wat u hier schrijft."
        "Alguém em {name} escreveu algo que não deve estar num e-mail comum; por isso o e-mail só tem esta ligação. O texto é guardado selado. Não é encriptação de ponta a ponta: a equipa de {name} lê o que escrever aqui.";
    NotSure:
        "Not sure it is real? Call {name} at a number you already know, not one from this page."
        "Unsicher, ob das echt ist? Rufen Sie {name} unter einer Nummer an, die Sie schon kennen."
        "Un doute ? Appelez {name} à un numéro que vous connaissez déjà." "¿Tiene dudas? Llame a {name} a un número que ya conozca."
        "Ha dubbi? Chiami {name} a un numero che conosce già." "Twijfelt u? Bel {name} op een nummer dat u al kent."
        "Tem dúvidas? Ligue para {name} para um número que já conheça.";
    CodeSubject:
        "Your code for a message from {name}" "Ihr Code für eine Nachricht von {name}" "Votre code pour un message de {name}"
        "Su código para un mensaje de {name}" "Il Suo codice per un messaggio da {name}" "Uw code voor een bericht van {name}"
        "O seu código para uma mensagem de {name}";
    CodeMail:
        "Your code is {code}. Type it on the page you came from; it works once, for 15 minutes. If you did not ask for it, there is nothing to do: without this mail nobody gets in."
        "Ihr Code ist {code}. Geben Sie ihn auf der Seite ein, von der Sie kommen; er gilt einmal und 15 Minuten. Haben Sie ihn nicht angefordert, müssen Sie nichts tun: Ohne diese Mail kommt niemand hinein."
        "Votre code est {code}. Saisissez-le sur la page d’où vous venez ; il vaut une fois, pendant 15 minutes. Si vous ne l’avez pas demandé, il n’y a rien à faire : sans ce courriel, personne n’entre."
        "Su código es {code}. Escríbalo en la página de la que viene; vale una vez, durante 15 minutos. Si no lo pidió, no tiene que hacer nada: sin este correo no entra nadie."
        "Il Suo codice è {code}. Lo inserisca nella pagina da cui proviene; vale una volta, per 15 minuti. Se non l’ha chiesto, non deve fare nulla: senza questa e-mail nessuno entra."
        "Uw code is {code}. Typ hem op de pagina waar u vandaan komt; hij werkt één keer, 15 minuten lang. Heeft u er niet om gevraagd, dan hoeft u niets te doen: zonder deze mail komt niemand binnen."
        "O seu código é {code}. Escreva-o na página de onde veio; vale uma vez, durante 15 minutos. Se não o pediu, não precisa de fazer nada: sem este e-mail ninguém entra.";
}

#[cfg(test)]
mod tests {
    use crate::customer::words::tests::says_everything;

    use super::*;

    #[test]
    fn every_language_says_everything_and_fills_in_the_same() {
        says_everything(SecureWord::ALL);
    }
}
