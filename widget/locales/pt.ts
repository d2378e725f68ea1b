/** Portuguese. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Pagar {amount}",
  loading: "O formulário do cartão ainda está a carregar.",
  processing: "A processar o pagamento…",
  succeeded: "Pagamento concluído.",
  pending: "O pagamento está a demorar mais do que o habitual. Ainda está a ser processado: não pague outra vez.",
  expired: "Esta página de pagamento expirou. Comece de novo.",
  expiredRetry: "O tempo para este pagamento terminou. Nada foi cobrado. Tente novamente.",
  replaced: "Este pagamento continua noutro local, por exemplo noutro separador ou noutra janela. Conclua-o aí.",
  expiresSoon: "Esta página de pagamento expira em breve. Conclua o pagamento agora.",
  unreachable: "Não é possível contactar o serviço de pagamento. Verifique a ligação e tente novamente.",
  formUnavailable:
    "Não é possível carregar o formulário do cartão. Verifique a ligação e os bloqueadores de conteúdo e tente novamente.",
  tryAgain: "Tentar novamente",
  notAccepted: "Não é possível pagar a partir desta página. Contacte a loja.",
  action: {
    heading: "Confirme este pagamento no seu banco",
    inWindow: "A página do seu banco abre-se noutra janela. Esta página continua por si própria depois de confirmar.",
    goToBank: "Continuar no seu banco",
    newWindow: "Abrir numa nova janela",
    noWindow: "A página do seu banco não pode ser aberta aqui. Abra esta página no seu navegador.",
    elsewhere: "A página do seu banco está aberta noutro separador ou janela.",
    continueHere: "Continuar aqui",
    waiting: "A aguardar a resposta do seu banco…",
    cancel: "Cancelar pagamento",
    soon: "Faltam menos de dois minutos para confirmar.",
  },
  declines: {
    card_declined: "O cartão foi recusado. Utilize outro cartão.",
    insufficient_funds: "O cartão não tem saldo suficiente. Utilize outro cartão.",
    card_expired: "Este cartão expirou. Utilize outro cartão.",
    incorrect_number: "O número do cartão não está correto. Verifique-o e tente novamente.",
    incorrect_cvc: "O código de segurança não está correto. Verifique-o e tente novamente.",
    card_not_supported: "Este tipo de cartão não é aceite. Utilize outro cartão.",
    limit_exceeded: "Este pagamento excede o limite do cartão. Utilize outro cartão.",
    authentication_required: "O seu banco pede uma confirmação que não é possível aqui. Utilize outro cartão.",
    authentication_failed:
      "O pagamento não foi confirmado no seu banco. Não lhe foi cobrado nada. Tente novamente ou utilize outro cartão.",
    currency_not_supported: "Este cartão não suporta a moeda. Utilize outro cartão.",
    processing_unavailable: "Não foi possível processar o pagamento. Nada foi cobrado. Tente novamente mais tarde.",
    session_expired: "Esta página de pagamento expirou. Comece de novo.",
    order_being_paid:
      "Esta encomenda está a ser paga noutro separador ou janela. Aguarde um momento e tente novamente.",
    order_already_paid: "Esta encomenda já foi paga. Não foi cobrada novamente.",
  },
};
