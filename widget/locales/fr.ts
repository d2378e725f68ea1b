/** French. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Payer {amount}",
  loading: "Le formulaire de carte est en cours de chargement.",
  processing: "Paiement en cours…",
  succeeded: "Paiement effectué.",
  pending:
    "Votre paiement prend plus de temps que d’habitude. Il est toujours en cours : ne payez pas une seconde fois.",
  expired: "Cette page de paiement a expiré. Veuillez recommencer.",
  expiredRetry: "Le délai de ce paiement est dépassé. Vous n’avez pas été débité. Veuillez réessayer.",
  replaced:
    "Ce paiement se poursuit ailleurs, par exemple dans un autre onglet ou une autre fenêtre. Veuillez le terminer là-bas.",
  expiresSoon: "Cette page de paiement expire bientôt. Veuillez terminer votre paiement maintenant.",
  unreachable: "Le service de paiement est injoignable. Vérifiez votre connexion et réessayez.",
  formUnavailable:
    "Le formulaire de carte ne peut pas être chargé. Vérifiez votre connexion et vos bloqueurs de contenu, puis réessayez.",
  tryAgain: "Réessayer",
  notAccepted: "Le paiement n’est pas possible sur cette page. Veuillez contacter la boutique.",
  action: {
    heading: "Confirmez ce paiement auprès de votre banque",
    inWindow:
      "La page de votre banque s’ouvre dans une autre fenêtre. Cette page se poursuit d’elle-même après votre confirmation.",
    goToBank: "Continuer vers votre banque",
    newWindow: "Ouvrir dans une nouvelle fenêtre",
    noWindow: "La page de votre banque ne peut pas être ouverte ici. Ouvrez cette page dans votre navigateur.",
    elsewhere: "La page de votre banque est ouverte dans un autre onglet ou une autre fenêtre.",
    continueHere: "Continuer ici",
    waiting: "En attente de la réponse de votre banque…",
    cancel: "Annuler le paiement",
    soon: "Il reste moins de deux minutes pour confirmer.",
  },
  declines: {
    card_declined: "Votre carte a été refusée. Veuillez utiliser une autre carte.",
    insufficient_funds: "Les fonds disponibles sont insuffisants. Veuillez utiliser une autre carte.",
    card_expired: "Cette carte a expiré. Veuillez utiliser une autre carte.",
    incorrect_number: "Le numéro de carte est incorrect. Vérifiez-le et réessayez.",
    incorrect_cvc: "Le code de sécurité est incorrect. Vérifiez-le et réessayez.",
    card_not_supported: "Ce type de carte n’est pas accepté. Veuillez utiliser une autre carte.",
    limit_exceeded: "Ce paiement dépasse le plafond de la carte. Veuillez utiliser une autre carte.",
    authentication_required:
      "Votre banque demande une confirmation qui n’est pas possible ici. Veuillez utiliser une autre carte.",
    authentication_failed:
      "Le paiement n’a pas été confirmé auprès de votre banque. Vous n’avez pas été débité. Réessayez ou utilisez une autre carte.",
    currency_not_supported: "Cette carte ne prend pas en charge la devise. Veuillez utiliser une autre carte.",
    processing_unavailable:
      "Le paiement n’a pas pu être traité. Vous n’avez pas été débité. Veuillez réessayer plus tard.",
    session_expired: "Cette page de paiement a expiré. Veuillez recommencer.",
    order_being_paid:
      "Cette commande est en cours de paiement dans un autre onglet ou une autre fenêtre. Patientez un instant, puis réessayez.",
    order_already_paid: "Cette commande est déjà payée. Vous n’avez pas été débité une seconde fois.",
  },
};
