/** Polish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Zapłać {amount}",
  loading: "Formularz karty jeszcze się wczytuje.",
  processing: "Przetwarzamy płatność…",
  succeeded: "Płatność zakończona.",
  pending: "Płatność trwa dłużej niż zwykle. Nadal jest przetwarzana: prosimy nie płacić ponownie.",
  expired: "Ta strona płatności wygasła. Prosimy zacząć od nowa.",
  expiredRetry: "Czas na tę płatność minął. Nie pobrano żadnych środków. Prosimy spróbować ponownie.",
  replaced:
    "Ta płatność jest kontynuowana w innym miejscu, na przykład w innej karcie lub innym oknie. Dokończ ją tam.",
  expiresSoon: "Ta strona płatności wkrótce wygaśnie. Prosimy dokończyć płatność teraz.",
  unreachable: "Nie można połączyć się z usługą płatności. Sprawdź połączenie i spróbuj ponownie.",
  formUnavailable:
    "Nie można wczytać formularza karty. Sprawdź połączenie i blokowanie treści, a następnie spróbuj ponownie.",
  tryAgain: "Spróbuj ponownie",
  notAccepted: "Na tej stronie nie można zapłacić. Prosimy o kontakt ze sklepem.",
  action: {
    heading: "Potwierdź płatność w swoim banku",
    inWindow: "Strona banku otworzy się w osobnym oknie. Po potwierdzeniu ta strona sama przejdzie dalej.",
    goToBank: "Przejdź do banku",
    newWindow: "Otwórz w nowym oknie",
    noWindow: "Strony banku nie można tu otworzyć. Otwórz tę stronę w przeglądarce.",
    elsewhere: "Strona banku jest otwarta w innej karcie lub oknie.",
    continueHere: "Kontynuuj tutaj",
    waiting: "Czekamy na odpowiedź banku…",
    cancel: "Anuluj płatność",
    soon: "Na potwierdzenie zostały mniej niż dwie minuty.",
  },
  declines: {
    card_declined: "Karta została odrzucona. Prosimy użyć innej karty.",
    insufficient_funds: "Na karcie nie ma wystarczających środków. Prosimy użyć innej karty.",
    card_expired: "Ta karta straciła ważność. Prosimy użyć innej karty.",
    incorrect_number: "Numer karty jest nieprawidłowy. Sprawdź go i spróbuj ponownie.",
    incorrect_cvc: "Kod zabezpieczający jest nieprawidłowy. Sprawdź go i spróbuj ponownie.",
    card_not_supported: "Ten rodzaj karty nie jest akceptowany. Prosimy użyć innej karty.",
    limit_exceeded: "Ta płatność przekracza limit karty. Prosimy użyć innej karty.",
    authentication_required: "Bank wymaga potwierdzenia, które nie jest tu możliwe. Prosimy użyć innej karty.",
    authentication_failed:
      "Płatność nie została potwierdzona w banku. Nie pobrano żadnych środków. Spróbuj ponownie lub użyj innej karty.",
    currency_not_supported: "Ta karta nie obsługuje tej waluty. Prosimy użyć innej karty.",
    processing_unavailable:
      "Nie udało się przetworzyć płatności. Nie pobrano żadnych środków. Prosimy spróbować później.",
    session_expired: "Ta strona płatności wygasła. Prosimy zacząć od nowa.",
    order_being_paid:
      "To zamówienie jest właśnie opłacane w innej karcie lub innym oknie. Poczekaj chwilę i spróbuj ponownie.",
    order_already_paid: "To zamówienie zostało już opłacone. Nie pobrano ponownej opłaty.",
  },
};
