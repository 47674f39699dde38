/** Thrown for a directory that is not a skill. The client gets a 400 with the detail. */
export class SkillFault extends Error {
  /**
   * @param detail what is wrong and how to fix it
   * @param file the index of the invalid file in the upload, or null
   * @param member the API's name of the invalid member of the frontmatter, or null
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
