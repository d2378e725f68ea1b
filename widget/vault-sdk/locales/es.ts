/** Spanish. */
import type { FrameTexts } from "../texts.ts";

export const es: FrameTexts = {
  labels: {
    number: "Número de tarjeta",
    expiry: "Fecha de caducidad",
    cvc: "Código de seguridad",
    holder: "Nombre en la tarjeta (opcional)",
  },
  problems: {
    number_missing: "Introduzca el número de tarjeta.",
    number_incomplete: "El número de tarjeta es demasiado corto. Revise los dígitos.",
    number_wrong: "El número de tarjeta tiene un error. Revise los dígitos.",
    expiry_incomplete: "Introduzca el mes y el año, por ejemplo 04 / 29.",
    expiry_past: "Esta tarjeta ha caducado. Use otra tarjeta.",
    cvc_incomplete: "Introduzca todos los dígitos del código de seguridad.",
    holder_wrong: "Introduzca aquí el nombre, no el número de tarjeta.",
    test_card_required: "Aquí solo funcionan tarjetas de prueba. Use uno de los números de prueba.",
  },
};
