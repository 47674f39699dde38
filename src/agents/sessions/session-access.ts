import type { AnyOf } from '../../registry';

/** Deployed agents hold the role `runtime`, and have sessions and their messages for themselves. */
export const SESSION_READERS: AnyOf = ['viewer', 'runtime'];
export const SESSION_WRITERS: AnyOf = ['editor', 'runtime'];
export const SESSION_ARCHIVERS: AnyOf = ['admin'];

/** What people call it. */
export const SESSION = 'session';
