import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReadTurns } from './read-turns';

const PIECE = 64 * 1024;

describe('connections that send large bodies', () => {
  let turns: ReadTurns;
  let read: string[];
  beforeEach(() => {
    turns = new ReadTurns();
    read = [];
  });

  /** Reads pieces until the turn has no bytes left, then waits and reads another piece. */
  const send = (owner: string, pieces: number): void => {
    for (let left = pieces; left > 0; left--) {
      read.push(owner);
      if (!turns.take(PIECE)) return turns.wait([owner], () => send(owner, left - 1));
    }
  };
  const untilRead = async (count: number): Promise<void> => {
    while (read.length < count) await nextTurn();
  };

  it('share the bytes of a turn, so that one organization with many does not delay another', async () => {
    for (let n = 0; n < 50; n++) send('many', 20);
    send('one', 20);
    await untilRead(50 * 20 + 20);
    const lastOfOne = read.lastIndexOf('one');
    expect(lastOfOne).toBeLessThan(read.length / 4);
  });

  it('receive at most a fixed number of bytes in a turn', async () => {
    for (let n = 0; n < 50; n++) send('many', 20);
    const perTurn: number[] = [];
    for (let before = read.length; read.length < 1_000; before = read.length) {
      await nextTurn();
      perTurn.push(read.length - before);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(10);
  });

  it('let small requests pass at once', () => {
    expect(turns.take(1_000)).toBe(true);
  });
});
