/** Portuguese. */
import type { FrameTexts } from "../frame-texts.ts";

export const pt: FrameTexts = {
  title: "Dados do cartão",
  expiryShape: "MM / AA",
  labels: {
    number: "Número do cartão",
    expiry: "Data de validade",
    cvc: "Código de segurança",
    holder: "Nome no cartão",
    postalCode: "Código postal",
  },
  optional: "{label} (opcional)",
  cvcPlaces: {
    back: "3 dígitos no verso do cartão",
    front: "4 dígitos na frente do cartão",
  },
  problems: {
    number_missing: "Introduza o número do cartão.",
    number_incomplete: "O número do cartão é demasiado curto. Verifique os dígitos.",
    number_wrong: "O número do cartão tem um erro. Verifique os dígitos.",
    brand_not_accepted: "Este tipo de cartão não é aceite aqui. Utilize outro cartão.",
    expiry_incomplete: "Introduza o mês e o ano, por exemplo {example}.",
    expiry_wrong: "Esta data não pode estar certa. Verifique o mês e o ano.",
    expiry_past: "Este cartão expirou. Utilize outro cartão.",
    cvc_incomplete: "Introduza todos os dígitos do código de segurança.",
    holder_missing: "Introduza o nome que consta no cartão.",
    holder_wrong: "Introduza aqui o nome, não o número do cartão.",
    postal_code_missing: "Introduza o código postal da morada de faturação.",
    postal_code_wrong: "Introduza 2 a 10 letras e dígitos.",
    test_card_required: "Aqui só funcionam cartões de teste. Utilize um dos números de teste.",
  },
};
