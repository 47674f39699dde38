/** A type and a subtype in lower case (RFC 6838, section 4.2). */
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** The default media type. */
export const OCTET_STREAM = 'application/octet-stream';
