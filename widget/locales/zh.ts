/** Chinese, simplified. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "支付 {amount}",
  loading: "银行卡表单仍在加载。",
  processing: "正在处理您的付款…",
  succeeded: "付款已完成。",
  pending: "付款处理时间比平时长，仍在处理中：请勿重复付款。",
  expired: "此付款页面已过期。请重新开始。",
  expiredRetry: "本次付款已超时。未向您扣款。请重试。",
  expiresSoon: "此付款页面即将过期。请立即完成付款。",
  unreachable: "无法连接支付服务。请检查网络后重试。",
  formUnavailable: "无法加载银行卡表单。请检查网络和内容拦截器后重试。",
  tryAgain: "重试",
  notAccepted: "无法在此页面付款。请联系商家。",
  action: {
    heading: "请在您的银行确认此付款",
    inWindow: "银行页面将在单独的窗口中打开。确认后，本页面会自动继续。",
    goToBank: "前往银行",
    newWindow: "在新窗口中打开",
    noWindow: "无法在此打开银行页面。请在浏览器中打开本页面。",
    elsewhere: "银行页面已在其他标签页或窗口中打开。",
    continueHere: "在此继续",
    waiting: "正在等待银行答复…",
    cancel: "取消付款",
    soon: "确认时间已不足两分钟。",
  },
  declines: {
    card_declined: "您的卡被拒绝。请使用其他卡。",
    insufficient_funds: "此卡余额不足。请使用其他卡。",
    card_expired: "此卡已过期。请使用其他卡。",
    incorrect_number: "卡号不正确。请检查后重试。",
    incorrect_cvc: "安全码不正确。请检查后重试。",
    card_not_supported: "不接受此类卡。请使用其他卡。",
    limit_exceeded: "此付款超出卡的限额。请使用其他卡。",
    authentication_required: "您的银行要求的确认无法在此完成。请使用其他卡。",
    authentication_failed: "您的银行未确认此付款。未向您扣款。请重试或使用其他卡。",
    currency_not_supported: "此卡不支持该币种。请使用其他卡。",
    processing_unavailable: "无法处理此付款。未向您扣款。请稍后重试。",
    session_expired: "此付款页面已过期。请重新开始。",
  },
};
