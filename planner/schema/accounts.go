package schema

import (
	"fmt"
	"strconv"
)

func checkAccountName(v any) error {
	if name, _ := v.(string); !IsAccountName(name) {
		return fmt.Errorf("%q is not a name for it: a letter or _ first, then letters, digits and _ . -, at most 32 in all",
			name)
	}
	return nil
}

// highestAccount is the highest user or group id: the two above mean "none" to the kernel.
const highestAccount = 1<<32 - 3

func checkAccountNumber(v any) error {
	if n, _ := v.(int64); n < 0 || n > highestAccount {
		return fmt.Errorf("%d is out of bounds: 0 to %d", n, int64(highestAccount))
	}
	return nil
}

// AccountNumber reads a numeric user or group id. The two highest numbers mean "none" to the kernel and are no ids.
func AccountNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && n < 1<<32-2
}
