/**
 * Shows progress on standard error, so that standard output contains only the table. On a terminal, one line changes.
 * Otherwise, each tenth of the work adds a line.
 */
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
