/** Portuguese. */
import type { FrameTexts } from "../texts.ts";

export const pt: FrameTexts = {
  labels: {
    number: "Número do cartão",
    expiry: "Data de validade",
    cvc: "Código de segurança",
    holder: "Nome no cartão (opcional)",
  },
  problems: {
    number_missing: "Digite o número do cartão.",
    number_incomplete: "O número do cartão é curto demais. Confira os dígitos.",
    number_wrong: "O número do cartão tem um erro. Confira os dígitos.",
    expiry_incomplete: "Digite o mês e o ano, por exemplo 04 / 29.",
    expiry_past: "Este cartão expirou. Use outro cartão.",
    cvc_incomplete: "Digite todos os dígitos do código de segurança.",
    holder_wrong: "Digite aqui o nome, não o número do cartão.",
    test_card_required: "Aqui só funcionam cartões de teste. Use um dos números de teste.",
  },
};
