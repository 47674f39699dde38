/** What keeps a directory from being a skill. Told to whoever sent it (400). */
export class SkillFault extends Error {
  /**
   * @param detail what is wrong and what would be right
   * @param file its place among the files that were given, where one of them is at fault
   * @param member of the frontmatter that is at fault, as the API calls it
   */
  constructor(
    readonly detail: string,
    readonly file: number | null = null,
    readonly member: string | null = null,
    options?: ErrorOptions,
  ) {
    super(detail, options);
  }
}
