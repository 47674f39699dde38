/** What is wrong with a CSV file, and where. */
export class CsvFault extends Error {
  /** @param line counted from 1, by line feeds, those within quotes too: as an editor shows it. */
  constructor(
    readonly line: number,
    readonly detail: string,
  ) {
    super(`line ${line}: ${detail}`);
    this.name = 'CsvFault';
  }
}
