/** How the members of a body are used. The parser treats them accordingly, and threads return large bodies in this form. */
export type Outline =
  | { readonly kind: 'scalar' }
  /** A value that is stored and returned, but not read. It keeps its digits, NUL characters and order of members. */
  | { readonly kind: 'freeForm' }
  /**
   * A value that is parsed completely.
   *
   * @property isFreeForm it is also stored and returned, so it is parsed like by `RawJson.parseExactly`
   */
  | { readonly kind: 'whole'; readonly isFreeForm?: boolean }
  /**
   * @property max maximum number of elements. One more is kept of a longer list, so that it still counts as too long
   * @property isSeparate the elements are validated one by one. An element that cannot be read becomes an `InvalidJson`
   */
  | {
      readonly kind: 'list';
      readonly of: Outline;
      readonly max: number;
      readonly isSeparate?: boolean;
    }
  /**
   * An object with known members.
   *
   * @property ignored members that are dropped
   */
  | {
      readonly kind: 'object';
      readonly members: Readonly<Record<string, Outline>>;
      readonly ignored: ReadonlySet<string>;
    }
  /** An object with arbitrary member names. */
  | { readonly kind: 'map'; readonly of: Outline };

const freeForms = new WeakMap<Outline, boolean>();

/** Tells whether a body of this form can contain free-form values, or elements that are validated one by one. */
export function hasFreeForm(outline: Outline): boolean {
  let has = freeForms.get(outline);
  if (has === undefined) {
    has = containsFreeForm(outline);
    freeForms.set(outline, has);
  }
  return has;
}

function containsFreeForm(outline: Outline): boolean {
  switch (outline.kind) {
    case 'scalar':
      return false;
    case 'freeForm':
      return true;
    case 'whole':
      return outline.isFreeForm === true;
    case 'list':
      return outline.isSeparate === true || hasFreeForm(outline.of);
    case 'map':
      return hasFreeForm(outline.of);
    case 'object':
      // a body may repeat read-only members, which are free-form too
      return outline.ignored.size > 0 || Object.values(outline.members).some(hasFreeForm);
  }
}
