/** Korean. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} 결제",
  loading: "카드 입력란을 불러오고 있습니다.",
  processing: "결제를 처리하고 있습니다…",
  succeeded: "결제가 완료되었습니다.",
  pending: "결제가 평소보다 오래 걸리고 있습니다. 아직 처리 중이니 다시 결제하지 마세요.",
  expired: "결제 페이지가 만료되었습니다. 처음부터 다시 시작해 주세요.",
  expiredRetry: "결제 시간이 지났습니다. 청구된 금액은 없습니다. 다시 시도해 주세요.",
  replaced: "이 결제는 다른 탭이나 창 등 다른 곳에서 계속되고 있습니다. 그곳에서 완료해 주세요.",
  expiresSoon: "결제 페이지가 곧 만료됩니다. 지금 결제를 완료해 주세요.",
  unreachable: "결제 서비스에 연결할 수 없습니다. 연결을 확인하고 다시 시도해 주세요.",
  formUnavailable: "카드 입력란을 불러올 수 없습니다. 연결과 콘텐츠 차단기를 확인하고 다시 시도해 주세요.",
  tryAgain: "다시 시도",
  notAccepted: "이 페이지에서는 결제할 수 없습니다. 상점에 문의해 주세요.",
  action: {
    heading: "카드사에서 결제를 확인해 주세요",
    inWindow: "카드사 페이지가 별도의 창에서 열립니다. 확인을 마치면 이 페이지가 계속 진행됩니다.",
    goToBank: "카드사로 이동",
    newWindow: "새 창에서 열기",
    noWindow: "여기에서는 카드사 페이지를 열 수 없습니다. 브라우저에서 이 페이지를 열어 주세요.",
    elsewhere: "카드사 페이지가 다른 탭이나 창에 열려 있습니다.",
    continueHere: "여기에서 계속하기",
    waiting: "카드사의 응답을 기다리고 있습니다…",
    cancel: "결제 취소",
    soon: "확인할 시간이 2분도 남지 않았습니다.",
  },
  declines: {
    card_declined: "카드 결제가 거절되었습니다. 다른 카드를 사용해 주세요.",
    insufficient_funds: "카드의 잔액이 부족합니다. 다른 카드를 사용해 주세요.",
    card_expired: "유효 기간이 지난 카드입니다. 다른 카드를 사용해 주세요.",
    incorrect_number: "카드 번호가 올바르지 않습니다. 확인하고 다시 시도해 주세요.",
    incorrect_cvc: "보안 코드가 올바르지 않습니다. 확인하고 다시 시도해 주세요.",
    card_not_supported: "사용할 수 없는 종류의 카드입니다. 다른 카드를 사용해 주세요.",
    limit_exceeded: "카드 한도를 초과하는 결제입니다. 다른 카드를 사용해 주세요.",
    authentication_required: "카드사가 요구하는 확인을 여기에서는 할 수 없습니다. 다른 카드를 사용해 주세요.",
    authentication_failed:
      "카드사에서 결제가 확인되지 않았습니다. 청구된 금액은 없습니다. 다시 시도하거나 다른 카드를 사용해 주세요.",
    currency_not_supported: "이 통화를 지원하지 않는 카드입니다. 다른 카드를 사용해 주세요.",
    processing_unavailable: "결제를 처리하지 못했습니다. 청구된 금액은 없습니다. 나중에 다시 시도해 주세요.",
    session_expired: "결제 페이지가 만료되었습니다. 처음부터 다시 시작해 주세요.",
    order_being_paid: "이 주문은 다른 탭 또는 창에서 결제 중입니다. 잠시 후 다시 시도해 주세요.",
    order_already_paid: "이 주문은 이미 결제되었습니다. 추가로 청구되지 않았습니다.",
  },
};
