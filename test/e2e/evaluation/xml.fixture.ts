/** An element of a parsed XML document. */
export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: XmlElement[];
  /** Its own text, without its children's. */
  text: string;
}

const CHARS = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u;
const NAME = /^[A-Za-z_][\w.-]*/;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Parses a document of elements, attributes and text by the rules of XML 1.0 (Fifth Edition). Throws if it is not
 * well-formed, because a lenient parser would hide faults.
 */
export function parseXml(document: string): XmlElement {
  if (!CHARS.test(document)) throw new Error('contains a character that XML does not allow');
  const head = /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/.exec(document)?.[0];
  if (head === undefined) throw new Error('has no XML declaration');
  const reader = { at: head.length };
  const expectNext = (text: string): void => {
    if (!document.startsWith(text, reader.at)) throw new Error(`no ${text} at ${reader.at}`);
    reader.at += text.length;
  };
  const name = (): string => {
    const tagName = NAME.exec(document.slice(reader.at, reader.at + 200))?.[0];
    if (tagName === undefined) throw new Error(`no name at ${reader.at}`);
    reader.at += tagName.length;
    return tagName;
  };
  const resolved = (text: string): string => {
    if (text.includes('<')) throw new Error('an unescaped <');
    return text.replace(/&([^;&]*;?)/g, (_, reference: string) => {
      const number = /^#(\d+);$/.exec(reference)?.[1];
      const entity = number ? String.fromCodePoint(Number(number)) : ENTITIES[reference.replace(/;$/, '')];
      if (entity === undefined || !reference.endsWith(';') || !CHARS.test(entity)) {
        throw new Error(`&${reference} is not a reference`);
      }
      return entity;
    });
  };
  const element = (): XmlElement => {
    expectNext('<');
    const own: XmlElement = { name: name(), attributes: {}, children: [], text: '' };
    while (document[reader.at] === ' ') {
      reader.at++;
      const attribute = name();
      expectNext('="');
      const end = document.indexOf('"', reader.at);
      if (end < 0 || attribute in own.attributes) throw new Error(`the attribute ${attribute} is malformed`);
      // a parser replaces literal line breaks and tabs with spaces (section 3.3.3)
      own.attributes[attribute] = resolved(document.slice(reader.at, end).replace(/[\t\n\r]/g, ' '));
      reader.at = end + 1;
    }
    if (document.startsWith('/>', reader.at)) {
      reader.at += 2;
      return own;
    }
    expectNext('>');
    while (!document.startsWith('</', reader.at)) {
      const next = document.indexOf('<', reader.at);
      if (next < 0) throw new Error(`${own.name} has no end`);
      const text = document.slice(reader.at, next);
      if (text.includes(']]>')) throw new Error('an unescaped ]]>');
      own.text += resolved(text);
      reader.at = next;
      if (!document.startsWith('</', next)) own.children.push(element());
    }
    expectNext(`</${own.name}>`);
    return own;
  };
  const root = element();
  if (document.slice(reader.at).trim() !== '') throw new Error('has content after its root');
  return root;
}
