import type { EvalProgress } from '../evaluate/options.js';

/** Shows where the evaluations stand: on one line that is rewritten in a terminal, else on a line for each tenth. */
export class Progress {
  private line = '';
  private readonly tenths = new Map<string, number>();

  constructor(private readonly stream: NodeJS.WriteStream) {}

  show(name: string, { finished, total, failed }: EvalProgress): void {
    const text = `${name}: ${finished} of ${total}${failed > 0 ? `, ${failed} failed` : ''}`;
    if (this.stream.isTTY) {
      this.stream.write(`\r${text.padEnd(this.line.length)}`);
      this.line = text;
      return;
    }
    const tenth = total > 0 ? Math.floor((finished / total) * 10) : 0;
    if (this.tenths.get(name) === tenth) return;
    this.tenths.set(name, tenth);
    this.stream.write(`${text}\n`);
  }

  /** Removes the line, so that something else can be written. */
  clear(): void {
    if (this.line !== '') this.stream.write(`\r${' '.repeat(this.line.length)}\r`);
    this.line = '';
  }
}
