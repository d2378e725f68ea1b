/** Spanish. */
import type { FrameTexts } from "../frame-texts.ts";

export const es: FrameTexts = {
  title: "Datos de la tarjeta",
  expiryShape: "MM / AA",
  labels: {
    number: "Número de tarjeta",
    expiry: "Fecha de caducidad",
    cvc: "Código de seguridad",
    holder: "Nombre en la tarjeta",
    postalCode: "Código postal",
  },
  optional: "{label} (opcional)",
  cvcPlaces: {
    back: "3 dígitos en el reverso de la tarjeta",
    front: "4 dígitos en el anverso de la tarjeta",
  },
  problems: {
    number_missing: "Introduzca el número de tarjeta.",
    number_incomplete: "El número de tarjeta es demasiado corto. Revise los dígitos.",
    number_wrong: "El número de tarjeta tiene un error. Revise los dígitos.",
    brand_not_accepted: "Este tipo de tarjeta no se acepta aquí. Utilice otra tarjeta.",
    expiry_incomplete: "Introduzca el mes y el año, por ejemplo {example}.",
    expiry_wrong: "Esta fecha no puede ser correcta. Revise el mes y el año.",
    expiry_past: "Esta tarjeta ha caducado. Utilice otra tarjeta.",
    cvc_incomplete: "Introduzca todos los dígitos del código de seguridad.",
    holder_missing: "Introduzca el nombre que figura en la tarjeta.",
    holder_wrong: "Introduzca aquí el nombre, no el número de tarjeta.",
    postal_code_missing: "Introduzca el código postal de la dirección de facturación.",
    postal_code_wrong: "Introduzca de 2 a 10 letras y dígitos.",
    test_card_required: "Aquí solo funcionan tarjetas de prueba. Utilice uno de los números de prueba.",
  },
};
