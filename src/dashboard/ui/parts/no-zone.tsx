/** Says that days are those of UTC because the browser has no time zone. */
import { isZoneUnknown } from "./time-zones.ts";

export function NoZone() {
  return isZoneUnknown ? <p className="small">This browser has no time zone, so times are in UTC.</p> : null;
}
