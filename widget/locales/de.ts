/** German. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} bezahlen",
  loading: "Das Kartenformular wird noch geladen.",
  processing: "Ihre Zahlung wird verarbeitet…",
  succeeded: "Zahlung abgeschlossen.",
  pending: "Ihre Zahlung dauert länger als üblich. Sie wird noch verarbeitet: Bitte zahlen Sie nicht noch einmal.",
  expired: "Diese Zahlungsseite ist abgelaufen. Bitte beginnen Sie von vorn.",
  expiredRetry: "Die Zeit für diese Zahlung ist abgelaufen. Es wurde nichts abgebucht. Bitte versuchen Sie es erneut.",
  replaced:
    "Diese Zahlung wird an anderer Stelle fortgesetzt, etwa in einem anderen Tab oder Fenster. Bitte schließen Sie sie dort ab.",
  expiresSoon: "Diese Zahlungsseite läuft bald ab. Bitte schließen Sie die Zahlung jetzt ab.",
  unreachable: "Der Zahlungsdienst ist nicht erreichbar. Prüfen Sie Ihre Verbindung und versuchen Sie es erneut.",
  formUnavailable:
    "Das Kartenformular kann nicht geladen werden. Prüfen Sie Ihre Verbindung und Ihre Inhaltsblocker und versuchen Sie es erneut.",
  tryAgain: "Erneut versuchen",
  notAccepted: "Auf dieser Seite kann nicht bezahlt werden. Bitte wenden Sie sich an den Shop.",
  action: {
    heading: "Bestätigen Sie diese Zahlung bei Ihrer Bank",
    inWindow:
      "Die Seite Ihrer Bank öffnet sich in einem eigenen Fenster. Diese Seite macht von selbst weiter, wenn Sie bestätigt haben.",
    goToBank: "Weiter zu Ihrer Bank",
    newWindow: "In einem neuen Fenster öffnen",
    noWindow: "Die Seite Ihrer Bank kann hier nicht geöffnet werden. Öffnen Sie diese Seite in Ihrem Browser.",
    elsewhere: "Die Seite Ihrer Bank ist in einem anderen Tab oder Fenster geöffnet.",
    continueHere: "Hier weitermachen",
    waiting: "Antwort Ihrer Bank wird abgewartet…",
    cancel: "Zahlung abbrechen",
    soon: "Zum Bestätigen bleiben weniger als zwei Minuten.",
  },
  declines: {
    card_declined: "Ihre Karte wurde abgelehnt. Bitte verwenden Sie eine andere Karte.",
    insufficient_funds: "Die Karte ist nicht ausreichend gedeckt. Bitte verwenden Sie eine andere Karte.",
    card_expired: "Diese Karte ist abgelaufen. Bitte verwenden Sie eine andere Karte.",
    incorrect_number: "Die Kartennummer ist nicht richtig. Prüfen Sie sie und versuchen Sie es erneut.",
    incorrect_cvc: "Die Prüfnummer ist nicht richtig. Prüfen Sie sie und versuchen Sie es erneut.",
    card_not_supported: "Diese Kartenart wird nicht akzeptiert. Bitte verwenden Sie eine andere Karte.",
    limit_exceeded: "Diese Zahlung übersteigt das Limit der Karte. Bitte verwenden Sie eine andere Karte.",
    authentication_required:
      "Ihre Bank verlangt eine Bestätigung, die hier nicht möglich ist. Bitte verwenden Sie eine andere Karte.",
    authentication_failed:
      "Die Zahlung wurde bei Ihrer Bank nicht bestätigt. Es wurde nichts abgebucht. Versuchen Sie es erneut oder verwenden Sie eine andere Karte.",
    currency_not_supported: "Diese Karte unterstützt die Währung nicht. Bitte verwenden Sie eine andere Karte.",
    processing_unavailable:
      "Die Zahlung konnte nicht verarbeitet werden. Es wurde nichts abgebucht. Bitte versuchen Sie es später erneut.",
    session_expired: "Diese Zahlungsseite ist abgelaufen. Bitte beginnen Sie von vorn.",
    order_being_paid:
      "Diese Bestellung wird gerade in einem anderen Tab oder Fenster bezahlt. Warten Sie einen Moment und versuchen Sie es dann erneut.",
    order_already_paid: "Diese Bestellung ist bereits bezahlt. Es wurde nicht noch einmal abgebucht.",
  },
};
