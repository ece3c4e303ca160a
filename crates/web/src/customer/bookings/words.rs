//! The words of the pages on which times are booked, moved and cancelled, in the columns of the table of customers' words.
//! What is filled in are names of the team, times and the visitor's own address.

use rookery_base::phrases;

phrases! { BookingWord
    Title:
        "Book a time with {name}" "Termin buchen bei {name}" "Réserver un rendez-vous avec {name}" "Reservar una cita con {name}"
        "Prenotare un appuntamento con {name}" "Afspraak maken met {name}" "Marcar uma hora com {name}";
    With: "with {name}" "mit {name}" "avec {name}" "con {name}" "con {name}" "met {name}" "com {name}";
    Minutes: "{n} minutes" "{n} Minuten" "{n} minutes" "{n} minutos" "{n} minuti" "{n} minuten" "{n} minutos";
    ShownFor:
        "Times are shown for" "Uhrzeiten gelten für" "Heures affichées pour" "Horas mostradas para" "Orari mostrati per"
        "Tijden worden getoond voor" "As horas são mostradas para";
    Now: "now {time}" "jetzt {time}" "il est {time}" "ahora {time}" "ora {time}" "nu {time}" "agora {time}";
    Show: "Show" "Anzeigen" "Afficher" "Mostrar" "Mostra" "Tonen" "Mostrar";
    First:
        "First free time" "Erster freier Termin" "Premier créneau libre" "Primera hora libre" "Primo orario libero"
        "Eerste vrije tijd" "Primeira hora livre";
    TakeIt: "Take it" "Nehmen" "Choisir" "Elegir" "Scegli" "Kiezen" "Escolher";
    NothingFree: "Nothing free" "Nichts frei" "Rien de libre" "Nada libre" "Niente di libero" "Niets vrij" "Nada livre";
    NoTimes:
        "There are no free times at the moment." "Zurzeit sind keine Termine frei." "Aucun créneau n’est libre pour le moment."
        "No hay horas libres por ahora." "Al momento non ci sono orari liberi." "Er zijn op dit moment geen vrije tijden."
        "De momento não há horas livres.";
    Weeks: "Weeks" "Wochen" "Semaines" "Semanas" "Settimane" "Weken" "Semanas";
    Earlier: "Earlier" "Früher" "Plus tôt" "Antes" "Prima" "Eerder" "Antes";
    Later: "Later" "Später" "Plus tard" "Más tarde" "Dopo" "Later" "Mais tarde";
    FromTo: "{from} to {to}" "{from} bis {to}" "{from} à {to}" "{from} a {to}" "{from} - {to}" "{from} tot {to}" "{from} a {to}";
    NoneFits:
        "No time fits? Reply to our mail and we find one." "Passt nichts? Antworten Sie auf unsere Mail, dann finden wir etwas."
        "Rien ne convient ? Répondez à notre courriel et nous trouverons." "¿No le va ninguna? Responda a nuestro correo y buscamos otra."
        "Nessun orario va bene? Risponda alla nostra e-mail e ne troviamo uno."
        "Past er niets? Beantwoord onze mail, dan vinden we iets." "Nenhuma serve? Responda ao nosso e-mail e encontramos uma.";
    NoCookies:
        "This page sets no cookie and needs no account." "Diese Seite setzt kein Cookie und braucht kein Konto."
        "Cette page ne dépose aucun cookie et ne demande aucun compte." "Esta página no usa cookies ni pide una cuenta."
        "Questa pagina non usa cookie e non richiede un account." "Deze pagina plaatst geen cookie en vraagt geen account."
        "Esta página não usa cookies nem pede conta.";
    Taken:
        "That time was just booked. Please choose another one."
        "Jemand war schneller: Dieser Termin ist vergeben. Bitte wählen Sie einen anderen."
        "Quelqu’un a été plus rapide : ce créneau est pris. Choisissez-en un autre."
        "Alguien fue más rápido: esta hora está ocupada. Elija otra, por favor."
        "Qualcuno è stato più veloce: questo orario è occupato. Ne scelga un altro."
        "Iemand was sneller: deze tijd is bezet. Kies een andere." "Alguém foi mais rápido: esta hora está ocupada. Escolha outra.";
    BookedBefore:
        "You’ve already booked {time}. To reschedule or cancel, use the links in your confirmation email."
        "Sie haben schon gebucht: {time}. Verschieben oder absagen können Sie mit den Links in der E-Mail dazu."
        "Vous avez déjà réservé : {time}. Pour déplacer ou annuler, utilisez les liens de l’e-mail reçu."
        "Ya reservó esta hora: {time}. Para cambiarla o cancelarla, use los enlaces del correo que recibió."
        "Ha già prenotato: {time}. Per spostare o annullare, usi i link nell’e-mail ricevuta."
        "U heeft al geboekt: {time}. Verzetten of annuleren kan met de links in de e-mail daarover."
        "Já marcou: {time}. Para mudar ou cancelar, use as ligações do e-mail que recebeu.";
    TooMany:
        "You have several of these ahead of you already. Cancel one of them first, or write to us."
        "Sie haben davon schon mehrere vor sich. Sagen Sie zuerst einen ab, oder schreiben Sie uns."
        "Vous en avez déjà plusieurs à venir. Annulez-en un d’abord, ou écrivez-nous."
        "Ya tiene varias por delante. Cancele una primero o escríbanos."
        "Ne ha già diversi in programma. Ne annulli prima uno, oppure ci scriva."
        "U heeft er al meerdere voor de boeg. Annuleer er eerst een, of schrijf ons."
        "Já tem várias marcadas. Cancele uma primeiro ou escreva-nos.";
    OtherTimes:
        "Other times" "Andere Termine" "Autres créneaux" "Otras horas" "Altri orari" "Andere tijden" "Outras horas";
    Almost:
        "Almost booked" "Fast gebucht" "Presque réservé" "Casi reservada" "Quasi prenotato" "Bijna geboekt" "Quase marcada";
    YourName: "Your name" "Ihr Name" "Votre nom" "Su nombre" "Il Suo nome" "Uw naam" "O seu nome";
    Email: "Email" "E-Mail" "E-mail" "Correo electrónico" "E-mail" "E-mail" "E-mail";
    CodeComes:
        "We send a code to this address. Nothing is booked before." "Wir senden einen Code an diese Adresse. Vorher ist nichts gebucht."
        "Nous envoyons un code à cette adresse. Rien n’est réservé avant." "Enviamos un código a esta dirección. Antes no se reserva nada."
        "Inviamo un codice a questo indirizzo. Prima non si prenota nulla." "We sturen een code naar dit adres. Eerder wordt niets geboekt."
        "Enviamos um código para este endereço. Antes disso nada fica marcado.";
    GoesTo:
        "The invitation goes to {address}, from the link we sent you. No code is needed."
        "Die Einladung geht an {address}, aus unserem Link. Ein Code ist nicht nötig."
        "L’invitation part à {address}, d’après notre lien. Aucun code n’est nécessaire."
        "La invitación va a {address}, según nuestro enlace. No hace falta código."
        "L’invito va a {address}, dal nostro link. Non serve alcun codice."
        "De uitnodiging gaat naar {address}, uit onze link. Een code is niet nodig."
        "O convite vai para {address}, do nosso link. Não é preciso código.";
    About:
        "What is it about?" "Worum geht es?" "De quoi s’agit-il ?" "¿De qué se trata?" "Di che cosa si tratta?"
        "Waar gaat het over?" "De que se trata?";
    Optional: "(optional)" "(freiwillig)" "(facultatif)" "(opcional)" "(facoltativo)" "(optioneel)" "(opcional)";
    BookAt: "Book {time}" "{time} buchen" "Réserver {time}" "Reservar {time}" "Prenota {time}" "{time} boeken" "Marcar {time}";
    Needed:
        "Please fill this in." "Bitte ausfüllen." "Merci de remplir ce champ." "Rellene este campo, por favor."
        "Compili questo campo." "Vul dit in." "Preencha este campo.";
    LookAgain:
        "Nothing is booked yet: please look at what is marked." "Noch ist nichts gebucht: Bitte sehen Sie sich das Markierte an."
        "Rien n’est encore réservé : regardez ce qui est signalé." "Aún no hay nada reservado: revise lo marcado."
        "Non è ancora prenotato nulla: controlli quanto è segnalato." "Er is nog niets geboekt: kijk naar wat gemarkeerd is."
        "Ainda nada está marcado: veja o que está assinalado.";
    SendAgain:
        "Send the code again" "Code noch einmal senden" "Renvoyer le code" "Enviar el código otra vez" "Invia di nuovo il codice"
        "Code opnieuw sturen" "Enviar o código outra vez";
    ChangeAddress:
        "Change the address" "Adresse ändern" "Changer l’adresse" "Cambiar la dirección" "Cambia l’indirizzo" "Adres wijzigen"
        "Mudar o endereço";
    EnoughCodes:
        "Enough codes were sent for now. Use the newest one, or try again in an hour."
        "Es wurden genug Codes gesendet. Nehmen Sie den neuesten, oder versuchen Sie es in einer Stunde wieder."
        "Assez de codes ont été envoyés. Utilisez le plus récent ou réessayez dans une heure."
        "Ya se enviaron bastantes códigos. Use el último o inténtelo dentro de una hora."
        "Sono stati inviati abbastanza codici. Usi il più recente o riprovi fra un’ora."
        "Er zijn genoeg codes gestuurd. Gebruik de nieuwste, of probeer het over een uur opnieuw."
        "Já foram enviados códigos suficientes. Use o mais recente ou tente daqui a uma hora.";
    TooBusy:
        "Very many people are booking here right now. Please come back in an hour, or write to us."
        "Hier buchen gerade sehr viele. Bitte versuchen Sie es in einer Stunde wieder, oder schreiben Sie uns."
        "Beaucoup de personnes réservent ici en ce moment. Revenez dans une heure, ou écrivez-nous."
        "Ahora mismo hay muchas personas reservando aquí. Vuelva dentro de una hora o escríbanos."
        "In questo momento moltissime persone stanno prenotando qui. Riprovi fra un’ora, oppure ci scriva."
        "Er boeken hier op dit moment heel veel mensen. Kom over een uur terug, of schrijf ons."
        "Neste momento há muitas pessoas a marcar aqui. Volte daqui a uma hora ou escreva-nos.";
    NameOnly:
        "Please write your name only, without a web or mail address." "Bitte nur Ihren Namen, ohne Web- oder Mailadresse."
        "Votre nom seulement, sans adresse web ni e-mail." "Escriba solo su nombre, sin dirección web ni de correo."
        "Scriva solo il Suo nome, senza indirizzi web o e-mail." "Alleen uw naam, zonder web- of mailadres."
        "Escreva só o seu nome, sem endereço web nem de e-mail.";
    TooLong:
        "This is too long." "Das ist zu lang." "C’est trop long." "Es demasiado largo." "È troppo lungo." "Dit is te lang."
        "É demasiado longo.";
    NoAddress:
        "This is not a whole address." "Das ist keine vollständige Adresse." "Cette adresse n’est pas complète."
        "No es una dirección completa." "Non è un indirizzo completo." "Dit is geen volledig adres." "Não é um endereço completo.";
    CodeTitle:
        "Check your email" "Sehen Sie in Ihr Postfach" "Consultez vos courriels" "Mire su correo" "Controlli la posta"
        "Kijk in uw mail" "Veja o seu e-mail";
    CodeSent:
        "We sent a code of six digits to {address}. Nothing is booked yet."
        "Wir haben einen Code mit sechs Ziffern an {address} gesendet. Noch ist nichts gebucht."
        "Nous avons envoyé un code à six chiffres à {address}. Rien n’est encore réservé."
        "Hemos enviado un código de seis cifras a {address}. Aún no hay nada reservado."
        "Abbiamo inviato un codice di sei cifre a {address}. Non è ancora prenotato nulla."
        "We stuurden een code van zes cijfers naar {address}. Er is nog niets geboekt."
        "Enviámos um código de seis algarismos para {address}. Ainda nada está marcado.";
    Code: "Code" "Code" "Code" "Código" "Codice" "Code" "Código";
    CodeWrong:
        "This is not the code. Please look again." "Das ist nicht der Code. Bitte sehen Sie noch einmal nach."
        "Ce n’est pas le code. Vérifiez à nouveau." "No es el código. Mírelo de nuevo." "Non è il codice. Controlli di nuovo."
        "Dit is niet de code. Kijk nog eens." "Não é o código. Veja outra vez.";
    CodeOver:
        "This code is over. We sent another one, if it is not too soon." "Dieser Code gilt nicht mehr. Wir haben einen neuen gesendet, wenn es nicht zu früh war."
        "Ce code n’est plus valable. Nous en avons envoyé un autre, si ce n’est pas trop tôt." "Este código ya no vale. Hemos enviado otro, si no es demasiado pronto."
        "Questo codice non vale più. Ne abbiamo inviato un altro, se non è troppo presto." "Deze code is verlopen. We stuurden een nieuwe, als het niet te snel was."
        "Este código já não é válido. Enviámos outro, se não for cedo demais.";
    Booked: "Booked" "Gebucht" "Réservé" "Reservada" "Prenotato" "Geboekt" "Marcada";
    InvitationSent:
        "The invitation is on its way to {address}." "Die Einladung ist unterwegs an {address}." "L’invitation est en route vers {address}."
        "La invitación va camino de {address}." "L’invito è in viaggio verso {address}." "De uitnodiging is onderweg naar {address}."
        "O convite vai a caminho de {address}.";
    WithWhom: "With" "Mit" "Avec" "Con" "Con" "Met" "Com";
    Where: "Where" "Ort" "Lieu" "Lugar" "Luogo" "Waar" "Local";
    AddToCalendar:
        "Add to my calendar" "In meinen Kalender" "Ajouter à mon agenda" "Añadir a mi calendario" "Aggiungi al mio calendario"
        "In mijn agenda zetten" "Juntar ao meu calendário";
    MoveIt: "Move it" "Verschieben" "Déplacer" "Cambiar la hora" "Sposta" "Verzetten" "Mudar a hora";
    CancelIt: "Cancel it" "Absagen" "Annuler" "Cancelar" "Annulla" "Annuleren" "Cancelar";
    FileWorks:
        "The file works with every calendar. Moving or cancelling changes the entry in yours by itself."
        "Die Datei passt für jeden Kalender. Verschieben oder Absagen ändert Ihren Eintrag von selbst."
        "Le fichier convient à tout agenda. Déplacer ou annuler modifie votre entrée automatiquement."
        "El archivo sirve para cualquier calendario. Al cambiar o cancelar, su entrada cambia sola."
        "Il file va bene per ogni calendario. Spostando o annullando, la voce cambia da sola."
        "Het bestand werkt in elke agenda. Verzetten of annuleren past uw afspraak vanzelf aan."
        "O ficheiro serve para qualquer calendário. Ao mudar ou cancelar, a sua entrada muda sozinha.";
    IsOver:
        "This time is over." "Dieser Termin ist vorbei." "Ce rendez-vous est passé." "Esta cita ya pasó." "Questo appuntamento è passato."
        "Deze afspraak is voorbij." "Esta hora já passou.";
    CancelAsk:
        "Cancel this booking?" "Diesen Termin absagen?" "Annuler ce rendez-vous ?" "¿Cancelar esta cita?" "Annullare questo appuntamento?"
        "Deze afspraak annuleren?" "Cancelar esta marcação?";
    NothingChanged:
        "Nothing has changed yet." "Noch hat sich nichts geändert." "Rien n’a encore changé." "Aún no ha cambiado nada."
        "Non è ancora cambiato nulla." "Er is nog niets veranderd." "Ainda nada mudou.";
    Why:
        "Why? This helps {name} to prepare." "Warum? Das hilft {name} bei der Planung." "Pourquoi ? Cela aide {name} à s’organiser."
        "¿Por qué? Así {name} puede organizarse." "Perché? Così {name} può organizzarsi." "Waarom? Dat helpt {name} bij de planning."
        "Porquê? Isso ajuda {name} a organizar-se.";
    WhyTime:
        "The time does not suit me any more" "Die Zeit passt mir nicht mehr" "L’heure ne me convient plus" "La hora ya no me va bien"
        "L’orario non mi va più bene" "De tijd past mij niet meer" "A hora já não me convém";
    WhySolved: "It is solved" "Es hat sich erledigt" "C’est réglé" "Ya está resuelto" "È risolto" "Het is opgelost" "Está resolvido";
    WhyOther:
        "Another reason" "Ein anderer Grund" "Une autre raison" "Otro motivo" "Un altro motivo" "Een andere reden" "Outra razão";
    ChooseReason:
        "Please choose a reason, so that nobody cancels by accident." "Bitte wählen Sie einen Grund, damit niemand aus Versehen absagt."
        "Choisissez une raison, pour que personne n’annule par erreur." "Elija un motivo, para que nadie cancele por error."
        "Scelga un motivo, così nessuno annulla per errore." "Kies een reden, zodat niemand per ongeluk annuleert."
        "Escolha uma razão, para que ninguém cancele por engano.";
    CancelNow: "Cancel the booking" "Termin absagen" "Annuler le rendez-vous" "Cancelar la cita" "Annulla l’appuntamento" "Afspraak annuleren" "Cancelar a marcação";
    MoveInstead:
        "Move it instead" "Lieber verschieben" "Plutôt déplacer" "Mejor cambiar la hora" "Meglio spostare" "Liever verzetten" "Antes mudar a hora";
    TenMinutes:
        "You have ten minutes to take it back. After that the time is free for others."
        "Sie können es zehn Minuten lang zurücknehmen. Danach ist die Zeit für andere frei."
        "Vous avez dix minutes pour revenir en arrière. Ensuite, le créneau est libre pour d’autres."
        "Tiene diez minutos para deshacerlo. Después la hora queda libre para otros."
        "Ha dieci minuti per ripensarci. Poi l’orario è libero per altri."
        "U kunt het tien minuten lang terugdraaien. Daarna is de tijd vrij voor anderen."
        "Tem dez minutos para voltar atrás. Depois a hora fica livre para outros.";
    Cancelled: "Cancelled" "Abgesagt" "Annulé" "Cancelada" "Annullato" "Geannuleerd" "Cancelada";
    TakeBack:
        "Take it back" "Zurücknehmen" "Revenir en arrière" "Deshacer" "Ripristina" "Terugdraaien" "Voltar atrás";
    TooLate:
        "It is too late to take it back. You can book another time." "Zum Zurücknehmen ist es zu spät. Sie können einen anderen Termin buchen."
        "Il est trop tard pour revenir en arrière. Vous pouvez réserver un autre créneau." "Es tarde para deshacerlo. Puede reservar otra hora."
        "È troppo tardi per ripristinarlo. Può prenotare un altro orario." "Terugdraaien kan niet meer. U kunt een andere tijd boeken."
        "É tarde para voltar atrás. Pode marcar outra hora.";
    BookAnother:
        "Book another time" "Anderen Termin buchen" "Réserver un autre créneau" "Reservar otra hora" "Prenota un altro orario"
        "Andere tijd boeken" "Marcar outra hora";
    MoveTitle:
        "Choose another time" "Anderen Termin wählen" "Choisir un autre créneau" "Elija otra hora" "Scelga un altro orario"
        "Kies een andere tijd" "Escolha outra hora";
    MoveAsk:
        "Move to this time?" "Auf diesen Termin verschieben?" "Déplacer à ce créneau ?" "¿Cambiar a esta hora?" "Spostare a questo orario?"
        "Naar deze tijd verzetten?" "Mudar para esta hora?";
    Until: "Until now: {time}" "Bisher: {time}" "Jusqu’ici : {time}" "Hasta ahora: {time}" "Finora: {time}" "Tot nu toe: {time}" "Até agora: {time}";
    Sure:
        "Yes, I want to move it" "Ja, ich möchte verschieben" "Oui, je veux déplacer" "Sí, quiero cambiarla" "Sì, voglio spostarlo"
        "Ja, ik wil verzetten" "Sim, quero mudar";
    TickSure:
        "Please tick this, so that nobody moves it by accident." "Bitte ankreuzen, damit niemand aus Versehen verschiebt."
        "Cochez cette case, pour que personne ne déplace par erreur." "Marque la casilla, para que nadie la cambie por error."
        "Spunti la casella, così nessuno sposta per errore." "Vink dit aan, zodat niemand per ongeluk verzet."
        "Assinale isto, para que ninguém mude por engano.";
    MovedOften:
        "This booking was moved too often. Please cancel it and book again, or write to us."
        "Dieser Termin wurde zu oft verschoben. Bitte sagen Sie ihn ab und buchen Sie neu, oder schreiben Sie uns."
        "Ce rendez-vous a été déplacé trop souvent. Annulez-le et réservez à nouveau, ou écrivez-nous."
        "Esta cita se cambió demasiadas veces. Cancélela y reserve de nuevo, o escríbanos."
        "Questo appuntamento è stato spostato troppe volte. Lo annulli e prenoti di nuovo, oppure ci scriva."
        "Deze afspraak is te vaak verzet. Annuleer hem en boek opnieuw, of schrijf ons."
        "Esta marcação foi mudada vezes demais. Cancele-a e marque de novo, ou escreva-nos.";
}

#[cfg(test)]
mod tests {
    use super::BookingWord;
    use crate::customer::words::tests::says_everything;

    #[test]
    fn every_language_says_everything_of_bookings() {
        says_everything(BookingWord::ALL);
    }
}
