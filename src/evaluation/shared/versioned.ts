/** A resource as it is answered, with the number its ETag is made of. */
export interface Versioned<View> {
  view: View;
  version: number;
}
