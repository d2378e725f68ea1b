/** Japanese. */
import type { FrameTexts } from "../frame-texts.ts";

export const ja: FrameTexts = {
  title: "カード情報",
  expiryShape: "MM / YY",
  labels: {
    number: "カード番号",
    expiry: "有効期限",
    cvc: "セキュリティコード",
    holder: "カード名義",
    postalCode: "郵便番号",
  },
  optional: "{label}（任意）",
  cvcPlaces: {
    back: "カード裏面の3桁の番号",
    front: "カード表面の4桁の番号",
  },
  problems: {
    number_missing: "カード番号を入力してください。",
    number_incomplete: "カード番号の桁数が足りません。番号をご確認ください。",
    number_wrong: "カード番号に誤りがあります。番号をご確認ください。",
    brand_not_accepted: "この種類のカードはここではご利用いただけません。別のカードをご利用ください。",
    expiry_incomplete: "月と年を入力してください（例：{example}）。",
    expiry_wrong: "有効期限が正しくありません。月と年をご確認ください。",
    expiry_past: "このカードは有効期限が切れています。別のカードをご利用ください。",
    cvc_incomplete: "セキュリティコードをすべて入力してください。",
    holder_missing: "カード名義を入力してください。",
    holder_wrong: "ここにはカード番号ではなく名義を入力してください。",
    postal_code_missing: "請求先住所の郵便番号を入力してください。",
    postal_code_wrong: "2～10文字の英数字で入力してください。",
    test_card_required: "ここではテストカードのみ使えます。テスト番号をご利用ください。",
  },
};
