/** Shows progress on standard error: one changing line on a terminal, else one line per tenth of the work. */
export class Progress {
  private readonly shown = new Map<string, number>();

  show(what: string, done: number, total: number): void {
    if (process.stderr.isTTY) {
      process.stderr.write(`\r\x1b[2K${what} ${done} of ${total}${done === total ? '\n' : ''}`);
      return;
    }
    const tenth = Math.floor((done * 10) / total);
    if ((this.shown.get(what) ?? 0) >= tenth) return;
    this.shown.set(what, tenth);
    process.stderr.write(`${what} ${done} of ${total}\n`);
  }
}
