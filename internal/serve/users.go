package serve

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/xdg-go/scram"

	"callhouse/internal/analytics/rights"
	"callhouse/internal/postgres"
	"callhouse/internal/scratch"
	"callhouse/internal/sink/disk"
)

// usersFormat is the version of the file.
const usersFormat = 1

// iterations is the number of hash rounds of a password.
const iterations = 16_384

// User is a user who may log in.
type User struct {
	Name        string
	Connections int    `json:",omitempty"` // maximum; 0: the default
	Timeout     string `json:",omitempty"` // of a statement, such as 30s; empty: the default
	Memory      int64  `json:",omitempty"` // bytes, for all statements over one snapshot; 0: the default
	rights.Rights
	Verifier Verifier
}

// Verifier checks a password: SCRAM-SHA-256, RFC 5802.
type Verifier struct {
	Salt                 []byte
	Iterations           int
	StoredKey, ServerKey []byte
}

// usersFile is the content of the file. Unknown fields are refused, so that a limit of a later version
// is never ignored.
type usersFile struct {
	FormatVersion int
	Users         []User
}

// Users are the users of a file, read at each use.
type Users struct {
	path   string
	secret []byte // for the salts of unknown names
}

// OpenUsers returns the users of a file, which must exist and be readable by its owner only.
func OpenUsers(path string) (*Users, error) {
	l := &Users{path: path, secret: make([]byte, 32)}
	_, _ = rand.Read(l.secret) // never fails
	_, err := l.All()
	return l, err
}

// All returns the users.
func (l *Users) All() ([]User, error) {
	f, err := readUsers(l.path)
	return f.Users, err
}

func readUsers(path string) (f usersFile, err error) {
	raw, err := scratch.ReadSecret(path, "")
	if err != nil {
		return f, fmt.Errorf("read the users: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("read the users of %s: %w", path, err)
	}
	if f.FormatVersion != usersFormat {
		return f, fmt.Errorf("read the users of %s: unsupported format version %d (supported: %d)", path, f.FormatVersion, usersFormat)
	}
	for _, u := range f.Users {
		if _, err := u.limit(); err != nil {
			return f, fmt.Errorf("read the users of %s: the timeout of %s is not a duration such as 30s", path, u.Name)
		}
		if err := u.Check(); err != nil {
			return f, fmt.Errorf("read the users of %s: the limits of %s: %w", path, u.Name, err)
		}
	}
	return f, nil
}

func (u User) limit() (time.Duration, error) {
	if u.Timeout == "" {
		return 0, nil
	}
	return time.ParseDuration(u.Timeout)
}

// Watch returns a function that returns the users removed or changed since its last call.
func (l *Users) Watch() func() ([]string, error) {
	var before map[string]string
	return func() (gone []string, err error) {
		all, err := l.All()
		if err != nil {
			return nil, err
		}
		now := map[string]string{}
		for _, u := range all {
			raw, err := json.Marshal(u)
			if err != nil {
				return nil, err
			}
			now[u.Name] = string(raw)
		}
		for name, entry := range before {
			if now[name] != entry {
				gone = append(gone, name)
			}
		}
		before = now
		return gone, nil
	}
}

// Find returns the verifier of a user. For an unknown name it returns an indistinguishable one that
// no password matches.
func (l *Users) Find(name string) (scram.StoredCredentials, User, error) {
	all, err := l.All()
	if err != nil {
		return scram.StoredCredentials{}, User{}, err
	}
	for _, u := range all {
		if u.Name == name {
			v := u.Verifier
			return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(v.Salt), Iters: v.Iterations},
				StoredKey: v.StoredKey, ServerKey: v.ServerKey}, u, nil
		}
	}
	derived := func(what string) []byte {
		h := hmac.New(sha256.New, l.secret)
		h.Write([]byte(what + name))
		return h.Sum(nil)
	}
	return scram.StoredCredentials{KeyFactors: scram.KeyFactors{Salt: string(derived("salt")[:16]), Iters: iterations},
		StoredKey: derived("stored"), ServerKey: derived("server")}, User{}, nil
}

// Check returns the user with this password, for protocols that send it.
func (l *Users) Check(name, password string) (u User, ok bool) {
	want, u, err := l.Find(name)
	if err != nil {
		return u, false
	}
	c, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		return u, false
	}
	got, err := c.GetStoredCredentialsWithError(want.KeyFactors)
	return u, err == nil && hmac.Equal(got.StoredKey, want.StoredKey)
}

// Rights returns the rights of a user. An unknown name is an error.
func (l *Users) Rights(name string) (rights.Rights, error) {
	_, u, err := l.Find(name)
	if err == nil && u.Name == "" {
		err = fmt.Errorf("the user %q no longer exists", name)
	}
	return u.Rights, err
}

// Limit returns the time limit of the user's statements; 0: the default.
func (u User) Limit() time.Duration {
	d, _ := u.limit() // validated when read
	return d
}

var nameRE = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,62}$`)

// ErrName reports an invalid user name.
var ErrName = errors.New("a user name must have 1 to 63 characters: letters, digits, or _ . @ -")

// NewUser returns a user with a password.
func NewUser(name, password string) (User, error) {
	if !nameRE.MatchString(name) {
		return User{}, ErrName
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	c, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		return User{}, fmt.Errorf("the password contains characters that SCRAM does not allow: %w", err)
	}
	s, err := c.GetStoredCredentialsWithError(scram.KeyFactors{Salt: string(salt), Iters: iterations})
	if err != nil {
		return User{}, err
	}
	return User{Name: name, Verifier: Verifier{salt, iterations, s.StoredKey, s.ServerKey}}, nil
}

// PutUser adds or replaces a user in the file, which is created if missing.
func PutUser(path string, u User) (replaced bool, err error) { return replaceUser(path, u.Name, u) }

// RemoveUser removes a user from the file and reports whether there was one.
func RemoveUser(path, name string) (bool, error) { return replaceUser(path, name) }

// replaceUser replaces a user, if there is one, while no other program changes the file.
func replaceUser(path, name string, by ...User) (was bool, err error) {
	hold := disk.NewHold(path + ".lock")
	if err := hold.Lock(); err != nil {
		return false, fmt.Errorf("lock the users: %w", err)
	}
	defer func() { err = errors.Join(err, hold.Unlock()) }()
	f, err := readUsers(path)
	if errors.Is(err, fs.ErrNotExist) && len(by) > 0 {
		f, err = usersFile{FormatVersion: usersFormat}, nil
	}
	if err != nil {
		return false, err
	}
	before := len(f.Users)
	f.Users = slices.DeleteFunc(f.Users, func(o User) bool { return o.Name == name })
	if was = len(f.Users) < before; !was && len(by) == 0 {
		return false, nil
	}
	f.Users = append(f.Users, by...)
	slices.SortFunc(f.Users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return was, writeUsers(path, f)
}

func writeUsers(path string, f usersFile) error {
	raw, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	d, err := disk.Open(filepath.Dir(path)) // creates files for the owner only
	if err == nil {
		err = disk.Replace(d, path+".tmp", path, append(raw, '\n'), true)
	}
	if err != nil {
		return fmt.Errorf("write the users: %w", err)
	}
	return nil
}

// ForPostgres returns the function that finds a user for the Postgres protocol, with default limits.
func (l *Users) ForPostgres(limits postgres.Limits) func(name string) (scram.StoredCredentials, postgres.Limits, error) {
	return func(name string) (scram.StoredCredentials, postgres.Limits, error) {
		credentials, u, err := l.Find(name)
		own := limits
		own.Connections, own.Statement = cmp.Or(u.Connections, limits.Connections), cmp.Or(u.Limit(), limits.Statement)
		return credentials, own, err
	}
}
