import { useMutation } from '@tanstack/react-query';
import type { Session, SessionUser } from 'content-graph-client';
import type { FormEvent, ReactNode } from 'react';

export interface SignInProps {
  readonly session: Session;
  readonly onUser: (user: SessionUser) => void;
}

export function SignIn({ session, onUser }: SignInProps): ReactNode {
  const login = useMutation({
    mutationFn: (form: FormData) => session.signIn(String(form.get('email')), String(form.get('password'))),
    onSuccess: onUser,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    login.mutate(new FormData(event.currentTarget));
  };
  return (
    <form onSubmit={submit} aria-label="Sign in">
      <label>
        E-mail
        <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
      {login.error !== null && <p role="alert">{login.error.message}</p>}
      <p>
        <button type="submit" disabled={login.isPending}>
          Sign in
        </button>
      </p>
    </form>
  );
}
