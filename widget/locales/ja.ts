/** Japanese. */

import type { Texts } from "../texts.ts";

export const texts: Texts = {
  pay: "{amount} を支払う",
  processing: "お支払いを処理しています…",
  succeeded: "お支払いが完了しました。",
  pending:
    "お支払いの処理に通常より時間がかかっています。処理は続いていますので、もう一度お支払いにならないでください。",
  expired: "このお支払いページの有効期限が切れました。最初からやり直してください。",
  expiresSoon: "このお支払いページはまもなく有効期限が切れます。今すぐお支払いを完了してください。",
  unreachable: "決済サービスに接続できません。接続を確認して、もう一度お試しください。",
  formUnavailable: "カード入力フォームを読み込めません。接続を確認して、もう一度お試しください。",
  tryAgain: "もう一度試す",
  notAccepted: "このページではお支払いができません。ショップにお問い合わせください。",
  declines: {
    card_declined: "カードが承認されませんでした。別のカードをご利用ください。",
    insufficient_funds: "カードの残高が不足しています。別のカードをご利用ください。",
    card_expired: "カードの有効期限が切れています。別のカードをご利用ください。",
    incorrect_number: "カード番号が正しくありません。ご確認のうえ、もう一度お試しください。",
    incorrect_cvc: "セキュリティコードが正しくありません。ご確認のうえ、もう一度お試しください。",
    card_not_supported: "この種類のカードはご利用いただけません。別のカードをご利用ください。",
    limit_exceeded: "カードの利用限度額を超えています。別のカードをご利用ください。",
    authentication_required: "カード会社が求める本人確認をここでは行えません。別のカードをご利用ください。",
    currency_not_supported: "このカードは通貨に対応していません。別のカードをご利用ください。",
    processing_unavailable: "お支払いを処理できませんでした。請求は行われていません。後でもう一度お試しください。",
    session_expired: "このお支払いページの有効期限が切れました。最初からやり直してください。",
  },
};
