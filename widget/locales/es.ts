/** Spanish. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "Pagar {amount}",
  loading: "El formulario de tarjeta aún se está cargando.",
  processing: "Procesando el pago…",
  succeeded: "Pago completado.",
  pending: "Su pago tarda más de lo habitual. Todavía se está procesando: no vuelva a pagar.",
  expired: "Esta página de pago ha caducado. Empiece de nuevo.",
  expiredRetry: "El tiempo para este pago ha terminado. No se le ha cobrado nada. Inténtelo de nuevo.",
  replaced: "Este pago continúa en otro lugar, por ejemplo en otra pestaña o ventana. Complételo allí.",
  expiresSoon: "Esta página de pago caducará pronto. Complete el pago ahora.",
  unreachable: "No se puede conectar con el servicio de pago. Compruebe su conexión e inténtelo de nuevo.",
  formUnavailable:
    "No se puede cargar el formulario de la tarjeta. Compruebe su conexión y los bloqueadores de contenido e inténtelo de nuevo.",
  tryAgain: "Intentar de nuevo",
  notAccepted: "No se puede pagar desde esta página. Póngase en contacto con la tienda.",
  action: {
    heading: "Confirme este pago con su banco",
    inWindow: "La página de su banco se abre en otra ventana. Esta página continúa por sí sola cuando haya confirmado.",
    goToBank: "Continuar en su banco",
    newWindow: "Abrir en una ventana nueva",
    noWindow: "La página de su banco no se puede abrir aquí. Abra esta página en su navegador.",
    elsewhere: "La página de su banco está abierta en otra pestaña o ventana.",
    continueHere: "Continuar aquí",
    waiting: "Esperando la respuesta de su banco…",
    cancel: "Cancelar el pago",
    soon: "Quedan menos de dos minutos para confirmar.",
  },
  declines: {
    card_declined: "Su tarjeta ha sido rechazada. Utilice otra tarjeta.",
    insufficient_funds: "La tarjeta no tiene fondos suficientes. Utilice otra tarjeta.",
    card_expired: "Esta tarjeta ha caducado. Utilice otra tarjeta.",
    incorrect_number: "El número de la tarjeta no es correcto. Revíselo e inténtelo de nuevo.",
    incorrect_cvc: "El código de seguridad no es correcto. Revíselo e inténtelo de nuevo.",
    card_not_supported: "Este tipo de tarjeta no se acepta. Utilice otra tarjeta.",
    limit_exceeded: "Este pago supera el límite de la tarjeta. Utilice otra tarjeta.",
    authentication_required: "Su banco pide una confirmación que no es posible aquí. Utilice otra tarjeta.",
    authentication_failed:
      "El pago no se confirmó con su banco. No se le ha cobrado. Inténtelo de nuevo o utilice otra tarjeta.",
    currency_not_supported: "Esta tarjeta no admite la moneda. Utilice otra tarjeta.",
    processing_unavailable: "No se ha podido procesar el pago. No se le ha cobrado nada. Inténtelo más tarde.",
    session_expired: "Esta página de pago ha caducado. Empiece de nuevo.",
    order_being_paid: "Este pedido se está pagando en otra pestaña o ventana. Espere un momento y vuelva a intentarlo.",
    order_already_paid: "Este pedido ya está pagado. No se le ha cobrado de nuevo.",
  },
};
