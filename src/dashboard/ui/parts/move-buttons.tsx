/** The two buttons that move a row of an ordered list. */
import { useEffect, useRef } from "react";
import { Button } from "./button.tsx";

/**
 * The buttons. The focus stays in the row that was moved: on the other button at an end of the list. `place` counts from
 * 1 to `count`.
 */
export function MoveButtons(props: { name: string; place: number; count: number; onMove: (step: -1 | 1) => void }) {
  const { name, place, count, onMove } = props;
  const up = useRef<HTMLButtonElement>(null);
  const down = useRef<HTMLButtonElement>(null);
  const pressed = useRef<-1 | 1>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus is lost when the place changes
  useEffect(() => {
    if (pressed.current === undefined) return;
    const [same, other] = pressed.current === -1 ? [up, down] : [down, up];
    pressed.current = undefined;
    (same.current?.disabled ? other : same).current?.focus();
  }, [place]);
  const move = (step: -1 | 1) => {
    pressed.current = step;
    onMove(step);
  };
  return (
    <>
      <Button kind="plain" ref={up} isDisabled={place === 1} aria-label={`Move ${name} up`} onPress={() => move(-1)}>
        ↑
      </Button>
      <Button
        kind="plain"
        ref={down}
        isDisabled={place === count}
        aria-label={`Move ${name} down`}
        onPress={() => move(1)}
      >
        ↓
      </Button>
    </>
  );
}
