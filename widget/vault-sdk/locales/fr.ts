/** French. */
import type { FrameTexts } from "../frame-texts.ts";

export const fr: FrameTexts = {
  title: "Informations de carte",
  expiryShape: "MM / AA",
  labels: {
    number: "Numéro de carte",
    expiry: "Date d’expiration",
    cvc: "Code de sécurité",
    holder: "Nom sur la carte",
    postalCode: "Code postal",
  },
  optional: "{label} (facultatif)",
  cvcPlaces: {
    back: "3 chiffres au dos de la carte",
    front: "4 chiffres au recto de la carte",
  },
  problems: {
    number_missing: "Saisissez le numéro de carte.",
    number_incomplete: "Le numéro de carte est trop court. Vérifiez les chiffres.",
    number_wrong: "Le numéro de carte contient une erreur. Vérifiez les chiffres.",
    brand_not_accepted: "Ce type de carte n’est pas accepté ici. Utilisez une autre carte.",
    expiry_incomplete: "Saisissez le mois et l’année, par exemple {example}.",
    expiry_wrong: "Cette date ne peut pas être correcte. Vérifiez le mois et l’année.",
    expiry_past: "Cette carte a expiré. Utilisez une autre carte.",
    cvc_incomplete: "Saisissez tous les chiffres du code de sécurité.",
    holder_missing: "Saisissez le nom figurant sur la carte.",
    holder_wrong: "Saisissez ici le nom, pas le numéro de carte.",
    postal_code_missing: "Saisissez le code postal de l’adresse de facturation.",
    postal_code_wrong: "Saisissez de 2 à 10 lettres et chiffres.",
    test_card_required: "Seules les cartes de test fonctionnent ici. Utilisez un numéro de test.",
  },
};
