/** French. */
import type { FrameTexts } from "../texts.ts";

export const fr: FrameTexts = {
  labels: {
    number: "Numéro de carte",
    expiry: "Date d’expiration",
    cvc: "Code de sécurité",
    holder: "Nom sur la carte (facultatif)",
  },
  problems: {
    number_missing: "Saisissez le numéro de carte.",
    number_incomplete: "Le numéro de carte est trop court. Vérifiez les chiffres.",
    number_wrong: "Le numéro de carte contient une erreur. Vérifiez les chiffres.",
    expiry_incomplete: "Saisissez le mois et l’année, par exemple 04 / 29.",
    expiry_past: "Cette carte a expiré. Utilisez une autre carte.",
    cvc_incomplete: "Saisissez tous les chiffres du code de sécurité.",
    holder_wrong: "Saisissez ici le nom, pas le numéro de carte.",
    test_card_required: "Seules les cartes de test fonctionnent ici. Utilisez un numéro de test.",
  },
};
